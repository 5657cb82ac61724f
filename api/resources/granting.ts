// How grants are replaced (contract 7.3): existence, rights and the last ADMIN first, then all in one transaction.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import { notOwn } from '../../domain/grant-rules.ts'
import type { Grants, Place, Scope } from '../../domain/permissions.ts'
import { ApiClient } from '../../storage/api-client.ts'
import { record } from '../../storage/audit-event.ts'
import { enabledAdmins } from '../../storage/authorization.ts'
import { loadGrants, replaceGrant } from '../../storage/grant.ts'
import { User } from '../../storage/user.ts'
import type { Caller } from '../caller.ts'
import { missingCodeOf, type EntityType } from '../source.ts'

/** Whom grants are given to or taken from. */
export interface Receiver {
  readonly principalId: string
  readonly principalType: 'USER' | 'API_CLIENT'
}

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

/** Replaces the global permissions of a principal; the last enabled holder keeps ADMIN. */
export const replaceGlobal = (em: EntityManager, receiver: Receiver, permissions: readonly string[]): Promise<void> =>
  em.transactional(async transaction => {
    const { principalId } = receiver
    const name = await nameOf(transaction, receiver)
    const admins = await enabledAdmins(transaction)
    if (!permissions.includes('ADMIN') && admins.length === 1 && admins[0] === principalId)
      throw new Failure('LAST_ADMIN')
    await replaceGrant(transaction, principalId, { scope: 'GLOBAL', resourceId: principalId, permissions })
    record(transaction, {
      type: 'PERMISSIONS_UPDATED',
      objectId: principalId,
      what: `Global permissions of ${name} updated`,
    })
  })

interface Resource {
  readonly id: string
  readonly place: Place
}

/** The permissions that one resource shall have for the receiver. */
interface Wish {
  readonly id: string
  readonly permissions: readonly string[]
}

interface Replacement {
  readonly entity: EntityType<Resource>
  readonly scope: Scope
  readonly receiver: Receiver
  readonly sets: readonly Wish[]
}

const load = async (em: EntityManager, entity: EntityType<Resource>, ids: string[]): Promise<Resource[]> => {
  const rows = (await em.find(entity as never, { id: { $in: ids } })) as Resource[]
  if (rows.length < ids.length) throw new Failure(missingCodeOf(entity))
  return rows
}

/** Grants as the rights table sees them: REALMS_FULL_READ is FULL_READ on every realm. */
const heldOn = (scope: Scope, id: string, grants: Grants): string[] => {
  const everywhere = scope === 'REALM' && grants.global.has('REALMS_FULL_READ') ? ['FULL_READ'] : []
  return [...grants.on(scope, id), ...everywhere]
}

const mustOwn = async (caller: Caller, resources: readonly Resource[], check: (own: Grants) => string[]) => {
  if (caller.global.has('ADMIN')) return
  const places = resources.map(({ place }) => place)
  const realms = await caller.which(
    'UPDATE_REALM',
    places.map(({ REALM }) => ({ REALM })),
  )
  if (realms.includes(false)) throw new Failure('ACCESS_DENIED')
  const foreign = check(await caller.grantsAt(places))
  if (foreign.length > 0)
    throw new Failure('ACCESS_DENIED', `Nobody gives what he does not hold: ${[...new Set(foreign)].join(', ')}.`)
}

/** Replaces what a principal holds on resources of one scope; ADMIN, or UPDATE on their realms and own permissions. */
export const replaceOn = async (
  em: EntityManager,
  caller: Caller,
  { entity, scope, receiver, sets }: Replacement,
): Promise<void> => {
  const wishes = new Map(sets.map(({ id, permissions }) => [id, permissions]))
  const name = await nameOf(em, receiver)
  const resources = await load(em, entity, [...wishes.keys()])
  const places = resources.map(({ place }) => place)
  const held = await loadGrants(em, receiver.principalId, places)
  await mustOwn(caller, resources, own =>
    [...wishes].flatMap(([id, after]) =>
      notOwn(scope, { giver: heldOn(scope, id, own), before: held.on(scope, id), after }),
    ),
  )
  await em.transactional(async transaction => {
    for (const { id, place } of resources) {
      const permissions = wishes.get(id) ?? []
      await replaceGrant(transaction, receiver.principalId, { scope, resourceId: id, permissions })
      record(transaction, {
        type: 'PERMISSIONS_UPDATED',
        objectId: receiver.principalId,
        realmId: place.REALM ?? null,
        what: `Permissions of ${name} on ${scope.toLowerCase().replace('_', ' ')} ${id} updated`,
      })
    }
  })
}
