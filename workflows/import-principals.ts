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
  /** A history of so many events goes on as a new run; unless stated the server says when. */
  readonly longestHistory?: number
}

/** An import that is under way. */
interface Import extends ImportOrder {
  readonly progress: ImportProgress
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

const readPage = async (kind: ImportKind, first: number, { principal, progress }: Import) => {
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

const disableGone = async (kind: ImportKind, { principal, progress }: Import) => {
  const part = await imports.disableGone({ kind, after: progress.after, principal })
  const next = {
    ...progress,
    looked: progress.looked + part.looked,
    disabled: progress.disabled + part.disabled,
    kept: [...progress.kept, ...part.kept],
  }
  return { next: { ...next, after: part.last ?? progress.after }, ended: part.last === null }
}

const isLong = ({ longestHistory = Infinity }: ImportOrder): boolean => {
  const { historyLength, continueAsNewSuggested } = workflowInfo()
  return continueAsNewSuggested || historyLength > longestHistory
}

const carryOn = async (kind: ImportKind, order: Import, again: (order: Import) => Promise<never>): Promise<void> => {
  let { progress } = order
  const now = (): Import => ({ ...order, progress })
  const tell = async (next: ImportProgress): Promise<void> => {
    progress = next
    setCurrentDetails(detailsOf(progress))
    if (isLong(order)) await again(now())
  }
  while (progress.first !== null) await tell(await readPage(kind, progress.first, now()))
  for (;;) {
    const { next, ended } = await disableGone(kind, now())
    // Of nobody who was left nothing is to be told.
    if (ended) return
    await tell(next)
  }
}

const bringIn = async (
  kind: ImportKind,
  { progress = nothing, ...order }: ImportOrder,
  again: (order: Import) => Promise<never>,
): Promise<void> => {
  mustBeRun(importWorkflowId(kind))
  try {
    await directory.askDirectory({ kind })
    await carryOn(kind, { ...order, progress }, again)
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
