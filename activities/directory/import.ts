// The principals of the identity provider brought into the records, a page in a transaction of its own.
import type { EntityManager } from '@mikro-orm/postgresql'
import { canonicalEmail } from '../../domain/address.ts'
import { system, type Principal } from '../../domain/principal.ts'
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

/** Writes on behalf of who asked for the import, as far as the records still know who that was. */
const writing = <T>({ orm }: Services, { id }: Principal, write: (em: EntityManager) => Promise<T>): Promise<T> =>
  orm.em.fork().transactional(async em => {
    const known = id === null ? undefined : await principalById(em, id)
    actAs(em, known ? { id: known.id, type: known.type, name: known.name } : system)
    return write(em)
  })

const pageOf = async (services: Services, { kind, first, principal }: PageOrder): Promise<PageEnd> => {
  const { directory, clock } = services
  if (kind === 'USER') {
    const { users, more } = await directory.users.list(first, pageLength)
    const done = await writing(services, principal, em => importUsers(em, users.map(importedUser), clock()))
    return { ...done, read: users.length, next: more ? first + pageLength : null }
  }
  const { clients, more } = await directory.listClients(first, pageLength)
  const others = clients.filter(({ providerId }) => providerId !== directory.ownClientId)
  const done = await writing(services, principal, em => importClients(em, others.map(importedClient), clock()))
  return { ...done, read: others.length, next: more ? first + pageLength : null }
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

/** Importing; each page by itself, so that what was done stays done. */
export const importActivities = (services: Services) => ({
  /** Idempotency: principals that are as they are at the identity provider are not changed again. */
  importPage: (order: PageOrder): Promise<PageEnd> => pageOf(services, order),
  /** Idempotency: who is disabled is not asked for again. `last` is the last record that was, null behind all. */
  disableGone: async ({
    kind,
    after,
    principal,
  }: {
    readonly kind: ImportKind
    readonly after: string | null
    readonly principal: Principal
  }) => {
    const some = await enabledAfter(services.orm.em.fork(), kind, { after, count: pageLength })
    const providerIds = await missingAmong(
      services,
      kind,
      some.map(({ providerId }) => providerId),
    )
    const done = await writing(services, principal, em => disableGone(em, { kind, providerIds }, services.clock()))
    return { ...done, looked: some.length, last: some.at(-1)?.id ?? null }
  },
})

/** Asking before an import, while somebody waits. */
export const importChecks = ({ directory }: Services) => ({
  /** Changes nothing; fails when the identity provider cannot be asked. */
  askDirectory: async ({ kind }: { readonly kind: ImportKind }): Promise<void> => {
    await (kind === 'USER' ? directory.users.list(0, 1) : directory.listClients(0, 1))
  },
})
