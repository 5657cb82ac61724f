// The principals of the identity provider brought into the records, a page in a transaction of its own.
import { Context } from '@temporalio/activity'
import type { EntityManager } from '@mikro-orm/postgresql'
import { canonicalEmail } from '../../domain/address.ts'
import { system, type Principal } from '../../domain/principal.ts'
import { writeOnce, type Step } from '../../storage/import-steps.ts'
import { principalById } from '../../storage/principal.ts'
import {
  disableGone,
  enabledAfter,
  importClients,
  importUsers,
  type Imported,
  type ImportedClient,
} from '../../storage/principal-import.ts'
import { actAs } from '../../storage/rows/stamp.ts'
import type { ImportKind } from '../../workflows/import-principals.ts'
import type { Services } from '../services.ts'
import type { DirectoryClient } from './clients.ts'
import type { DirectoryUser } from './users.ts'

/** A page of an import. */
interface PageOrder {
  readonly kind: ImportKind
  readonly first: number
  readonly principal: Principal
}

/** What came of a page, and where the next one begins. */
interface PageEnd extends Imported {
  readonly read: number
  readonly next: number | null
}

const pageLength = 100

const longestName = 255

const importedUser = ({ subject, firstName, lastName, email, enabled, passwordLogin }: DirectoryUser) => ({
  providerId: subject,
  firstName: firstName?.slice(0, longestName) ?? null,
  lastName: lastName?.slice(0, longestName) ?? null,
  email: email === null ? null : canonicalEmail(email),
  enabled,
  passwordLogin,
})

const importedClient = ({ providerId, name, enabled, ours }: DirectoryClient): ImportedClient => ({
  providerId,
  name,
  enabled,
  known: ours,
})

/** The step that this is an attempt at: runs and their activities have ids that no other has. */
const stepOf = (kind: ImportKind): Step => {
  const { workflowExecution, activityId } = Context.current().info
  return { kind, step: `${workflowExecution?.runId}/${activityId}` }
}

/** Writes once, on behalf of who asked for the import, as far as the records still know who that was. */
const writing = <T extends object>(
  { orm }: Services,
  { kind, principal: { id } }: Pick<PageOrder, 'kind' | 'principal'>,
  write: (em: EntityManager) => Promise<T>,
): Promise<T> =>
  orm.em.fork().transactional(async em => {
    const known = id === null ? undefined : await principalById(em, id)
    actAs(em, known ? { id: known.id, type: known.type, name: known.name } : system)
    return writeOnce(em, stepOf(kind), () => write(em))
  })

const userPage = async (services: Services, order: PageOrder): Promise<PageEnd> => {
  const { users, more } = await services.directory.users.list(order.first, pageLength)
  const next = more ? order.first + pageLength : null
  return writing(services, order, async em => {
    const done = await importUsers(em, users.map(importedUser), services.clock())
    return { ...done, read: users.length, next }
  })
}

const clientPage = async (services: Services, order: PageOrder): Promise<PageEnd> => {
  const { directory, clock } = services
  const { clients, more } = await directory.listClients(order.first, pageLength)
  const others = clients.filter(({ providerId }) => providerId !== directory.ownClientId)
  const next = more ? order.first + pageLength : null
  return writing(services, order, async em => {
    const done = await importClients(em, others.map(importedClient), clock())
    return { ...done, read: others.length, next }
  })
}

/** Which of these the identity provider surely has no more. */
const missingAmong = (
  { directory }: Services,
  kind: ImportKind,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const asked = ids.filter(id => id !== directory.ownClientId)
  if (asked.length === 0) return Promise.resolve([])
  return kind === 'USER' ? directory.users.missing(asked) : directory.missingClients(asked)
}

/** What is looked for among the records, and behind which of them. */
interface GoneOrder extends Pick<PageOrder, 'kind' | 'principal'> {
  readonly after: string | null
}

const disablePart = async (services: Services, order: GoneOrder) => {
  const { kind, after } = order
  const some = await enabledAfter(services.orm.em.fork(), kind, { after, count: pageLength })
  const providerIds = await missingAmong(
    services,
    kind,
    some.map(({ providerId }) => providerId),
  )
  return writing(services, order, async em => {
    const done = await disableGone(em, { kind, providerIds }, services.clock())
    return { ...done, looked: some.length, last: some.at(-1)?.id ?? null }
  })
}

/** Importing; each page by itself, so that what was done stays done. */
export const importActivities = (services: Services) => ({
  /** Idempotency key: the activity of the run; what it came to is kept with what it wrote. */
  importPage: (order: PageOrder): Promise<PageEnd> =>
    order.kind === 'USER' ? userPage(services, order) : clientPage(services, order),
  /** Idempotency key: the same. `last` is the last record that was asked for, null behind all. */
  disableGone: (order: GoneOrder) => disablePart(services, order),
})

/** Asking before an import, while somebody waits. */
export const importChecks = ({ directory }: Services) => ({
  /** Changes nothing; fails when the identity provider cannot be asked. */
  askDirectory: async ({ kind }: { readonly kind: ImportKind }): Promise<void> => {
    await (kind === 'USER' ? directory.users.list(0, 1) : directory.listClients(0, 1))
  },
})
