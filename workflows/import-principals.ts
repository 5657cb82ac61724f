// The principals of the identity provider brought into the records (contract 12): first all that are there, page by page;
// and only when the list came to its end, those that are gone are disabled.
import { continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow'
import type { Principal } from '../domain/principal.ts'
import { directory, imports } from './activities.ts'
import { importWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'
import { noAnswer, told } from './saga.ts'

/** Which principals. */
export type ImportKind = 'USER' | 'API_CLIENT'

/** How far an import is. */
export interface ImportProgress {
  readonly read: number
  readonly made: number
  readonly changed: number
  readonly looked: number
  readonly disabled: number
  /** Administrators who stay enabled, for nobody else would be one. */
  readonly kept: readonly string[]
  /** Where the next page begins; null when all have been read. */
  readonly first: number | null
  /** Behind which record the gone ones are looked for next; null at the beginning. */
  readonly after: string | null
}

/** What is imported, on whose behalf, and what a run before has done of it. */
export interface ImportOrder {
  readonly principal: Principal
  readonly progress?: ImportProgress
}

const nothing: ImportProgress = {
  read: 0,
  made: 0,
  changed: 0,
  looked: 0,
  disabled: 0,
  kept: [],
  first: 0,
  after: null,
}

const detailsOf = ({ read, made, changed, looked, disabled, kept }: ImportProgress): string => {
  const counts = `${read} read, ${made} new, ${changed} changed; ${looked} looked for, ${disabled} disabled`
  return kept.length === 0
    ? counts
    : `${counts}; ${[...new Set(kept)].join(', ')} stays enabled as the last administrator`
}

const readPage = async (kind: ImportKind, first: number, { principal, progress }: Required<ImportOrder>) => {
  const page = await imports.importPage({ kind, first, principal })
  return {
    ...progress,
    read: progress.read + page.read,
    made: progress.made + page.made,
    changed: progress.changed + page.changed,
    kept: [...progress.kept, ...page.kept],
    first: page.next,
  }
}

const disableGone = async (kind: ImportKind, { principal, progress }: Required<ImportOrder>) => {
  const part = await imports.disableGone({ kind, after: progress.after, principal })
  const next = {
    ...progress,
    looked: progress.looked + part.looked,
    disabled: progress.disabled + part.disabled,
    kept: [...progress.kept, ...part.kept],
  }
  return { next: { ...next, after: part.last ?? progress.after }, ended: part.last === null }
}

const carryOn = async (
  kind: ImportKind,
  order: Required<ImportOrder>,
  again: (order: ImportOrder) => Promise<never>,
) => {
  const { principal } = order
  let { progress } = order
  const tell = async (next: ImportProgress): Promise<void> => {
    progress = next
    setCurrentDetails(detailsOf(progress))
    if (workflowInfo().continueAsNewSuggested) await again({ principal, progress })
  }
  while (progress.first !== null) await tell(await readPage(kind, progress.first, { principal, progress }))
  for (;;) {
    const { next, ended } = await disableGone(kind, { principal, progress })
    await tell(next)
    if (ended) return
  }
}

const bringIn = async (
  kind: ImportKind,
  { principal, progress = nothing }: ImportOrder,
  again: (order: ImportOrder) => Promise<never>,
): Promise<void> => {
  mustBeRun(importWorkflowId(kind))
  try {
    await directory.askDirectory({ kind })
    await carryOn(kind, { principal, progress }, again)
  } catch (error) {
    throw told(error, noAnswer())
  }
}

/** Brings the users in. */
export async function importUsers(order: ImportOrder): Promise<void> {
  await bringIn('USER', order, next => continueAsNew<typeof importUsers>(next))
}

/** Brings the clients with a service account in. */
export async function importClients(order: ImportOrder): Promise<void> {
  await bringIn('API_CLIENT', order, next => continueAsNew<typeof importClients>(next))
}
