// How grants are replaced (contract 7.3): existence, rights and the last ADMIN first, then all in one transaction.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { mayGrantAt, withheld, type GrantChange } from '../../../domain/grant-rules.ts'
import type { Grants, Place, Scope } from '../../../domain/permissions.ts'
import { ApiClient } from '../../../storage/rows/api-client.ts'
import { record } from '../../../storage/audit.ts'
import { enabledAdmins } from '../../../storage/authorization.ts'
import { findByIds } from '../../../storage/by-ids.ts'
import { loadGrants, replaceGrants, type ResourceGrant } from '../../../storage/grant.ts'
import { lockRow } from '../../../storage/lock.ts'
import { User } from '../../../storage/rows/user.ts'
import type { Caller } from '../../kernel/caller.ts'
import { denied } from '../../kernel/denied.ts'
import { missingCodeOf, type EntityType } from '../../kernel/source.ts'

/** Whom grants are given to or taken from. */
export interface Receiver {
  readonly principalId: string
  readonly principalType: 'USER' | 'API_CLIENT'
}

const kinds = { USER: User, API_CLIENT: ApiClient } as const

/** The name of a principal for the audit log; an unknown one is the 404 of its kind. */
const nameOf = async (em: EntityManager, { principalId, principalType }: Receiver): Promise<string> => {
  if (principalType === 'API_CLIENT') {
    const client = await em.findOne(ApiClient, { id: principalId })
    if (!client) throw new Failure('API_CLIENT_NOT_FOUND')
    return client.name
  }
  const user = await em.findOne(User, { id: principalId })
  if (!user) throw new Failure('USER_NOT_FOUND')
  return user.email ?? user.providerId
}

const isSame = (before: Iterable<string>, after: Iterable<string>): boolean =>
  new Set(before).symmetricDifference(new Set(after)).size === 0

/** Replaces the global permissions of a principal; the last enabled holder keeps ADMIN. */
export const replaceGlobal = (em: EntityManager, receiver: Receiver, permissions: readonly string[]): Promise<void> =>
  em.transactional(async transaction => {
    const { principalId } = receiver
    const name = await nameOf(transaction, receiver)
    const admins = await enabledAdmins(transaction)
    if (!permissions.includes('ADMIN') && admins.length === 1 && admins[0] === principalId)
      throw new Failure('LAST_ADMIN')
    const { global } = await loadGrants(transaction, principalId)
    if (isSame(global, permissions)) return
    await replaceGrants(transaction, principalId, { scope: 'GLOBAL', grants: [{ id: principalId, permissions }] })
    record(transaction, {
      type: 'PERMISSIONS_UPDATED',
      objectId: principalId,
      what: `Global permissions of ${name} updated`,
    })
  })

interface Resource {
  readonly id: string
  readonly archived: boolean
  readonly place: Place
}

interface Replacement {
  readonly entity: EntityType<Resource>
  readonly scope: Scope
  readonly receiver: Receiver
  readonly sets: readonly ResourceGrant[]
}

const load = async (em: EntityManager, entity: EntityType<Resource>, ids: string[]): Promise<Resource[]> => {
  const rows = await findByIds(em, entity, ids)
  if (rows.length < ids.length) throw new Failure(missingCodeOf(entity))
  return rows
}

const mustGive = (own: Grants, changes: readonly GrantChange[]): void => {
  if (!changes.every(({ place }) => mayGrantAt(place, own))) throw denied('UPDATE_REALM')
  const foreign = new Set(changes.flatMap(change => withheld(change, own)))
  if (foreign.size > 0)
    throw new Failure('ACCESS_DENIED', `Nobody gives what he does not hold: ${[...foreign].join(', ')}.`)
}

/** What is archived stays readable, so its grants may be taken away; it gets no new ones (contract 4.4). */
const givesArchived = ({ archived, before, after }: GrantChange & { archived: boolean }): boolean =>
  archived && !new Set(after).isSubsetOf(new Set(before))

const changesOf = (held: Grants, resources: readonly Resource[], { scope, sets }: Replacement) => {
  const wanted = new Map(sets.map(({ id, permissions }) => [id, permissions]))
  return resources.map(({ id, place, archived }) => {
    const [before, after] = [held.on(scope, id), wanted.get(id) ?? []]
    return { scope, id, place, archived, before, after }
  })
}

/** Replaces what a principal holds on resources of one scope; ADMIN, or UPDATE on their realms and own permissions. */
export const replaceOn = async (em: EntityManager, caller: Caller, replacement: Replacement): Promise<void> => {
  const { entity, scope, receiver, sets } = replacement
  const name = await nameOf(em, receiver)
  const resources = await load(em, entity, [...new Set(sets.map(({ id }) => id))])
  const places = resources.map(({ place }) => place)
  const own = await caller.grantsAt(places)
  await em.transactional(async transaction => {
    const { principalId } = receiver
    // Whoever may only keep a permission for the receiver must not bring it back after it was taken away.
    await lockRow<User | ApiClient>(transaction, kinds[receiver.principalType], principalId)
    const held = await loadGrants(transaction, principalId, places)
    const all = changesOf(held, resources, replacement)
    mustGive(own, all)
    const changes = all.filter(({ before, after }) => !isSame(before, after))
    if (changes.some(givesArchived)) throw new Failure('ENTITY_ARCHIVED')
    const given = changes.map(({ id, after: permissions }) => ({ id, permissions }))
    await replaceGrants(transaction, principalId, { scope, grants: given })
    const what = (id: string) => `Permissions of ${name} on ${scope.toLowerCase().replace('_', ' ')} ${id} updated`
    for (const { id, place } of changes)
      record(transaction, {
        type: 'PERMISSIONS_UPDATED',
        objectId: principalId,
        realmId: place.REALM ?? null,
        certificateId: place.CERTIFICATE ?? null,
        what: what(id),
      })
  })
}
