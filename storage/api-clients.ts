// API clients as they are written (contract 7.2, 12): what they may be given, and what goes with them.
import type { EntityManager } from '@mikro-orm/postgresql'
import { clientGrants } from '../domain/creator-grants.ts'
import { Failure } from '../domain/failure.ts'
import type { Place, Right } from '../domain/permissions.ts'
import { record } from './audit.ts'
import { enabledAdmins, removeGrantsWithin } from './authorization.ts'
import { findByIds } from './by-ids.ts'
import { grant } from './grant.ts'
import { holderOfName } from './principal.ts'
import { ApiClient } from './rows/api-client.ts'
import { DeletedClient } from './rows/deleted-client.ts'
import { PermissionGrant } from './rows/permission-grant.ts'
import { Policy } from './rows/policy.ts'
import { Realm } from './rows/realm.ts'

/** Where an API client works. */
export interface Assignment {
  readonly realmIds: readonly string[]
  readonly defaultPolicyId?: string | null | undefined
}

/** A new API client. */
export interface NewClient extends Assignment {
  readonly id: string
  readonly providerId: string
  readonly name: string
}

/** What is to be otherwise; absent members stay. */
export interface ClientChange {
  readonly realmIds?: readonly string[] | undefined
  readonly defaultPolicyId?: string | null | undefined
  readonly name?: string | undefined
  readonly enabled?: boolean | undefined
}

/** Refuses unless the caller has a right at each of these places. */
export type Must = (right: Right, places: readonly Place[]) => Promise<void>

const notAmong = (ids: readonly string[], others: readonly string[]): string[] => {
  const known = new Set(others)
  return ids.filter(id => !known.has(id))
}

/** The realms and the default policy that an assignment adds to another. */
const addedTo = (before: Assignment, after: Assignment) => ({
  realmIds: notAmong(after.realmIds, before.realmIds),
  policyId: (after.defaultPolicyId !== before.defaultPolicyId && after.defaultPolicyId) || null,
})

const mustFit = async (em: EntityManager, { realmIds, defaultPolicyId }: Assignment): Promise<void> => {
  const policy = defaultPolicyId ? await em.findOne(Policy, defaultPolicyId) : null
  if (policy && !realmIds.includes(policy.realmId))
    throw new Failure('REALM_MISMATCH', 'The default policy is not of one of the realms.')
}

/** Throws the first refusal of a new assignment: rights for what is added (contract 7.2), then archived, then realms. */
export const judgeAssignment = async (
  em: EntityManager,
  { before, after }: { readonly before: Assignment; readonly after: Assignment },
  must: Must,
): Promise<void> => {
  const { realmIds, policyId } = addedTo(before, after)
  const realms = await findByIds(em, Realm, realmIds)
  const policies = await findByIds(em, Policy, policyId ? [policyId] : [])
  await must(
    'SHARE_REALM',
    realms.map(({ place }) => place),
  )
  await must(
    'SHARE_POLICY',
    policies.map(({ place }) => place),
  )
  if ([...realms, ...policies].some(({ archived }) => archived)) throw new Failure('ENTITY_ARCHIVED')
  await mustFit(em, after)
}

/** The assignment of a client after a change. */
export const assignmentAfter = (client: Assignment, change: ClientChange): Assignment => ({
  realmIds: change.realmIds ?? client.realmIds,
  defaultPolicyId: change.defaultPolicyId === undefined ? client.defaultPolicyId : change.defaultPolicyId,
})

/** Whether a client is already as a change wants it. */
export const changesNothing = (client: ApiClient, { name, enabled, ...assignment }: ClientChange): boolean => {
  const { realmIds, defaultPolicyId } = assignmentAfter(client, assignment)
  const others = new Set(realmIds).symmetricDifference(new Set(client.realmIds))
  return (
    (name ?? client.name) === client.name &&
    (enabled ?? client.enabled) === client.enabled &&
    others.size === 0 &&
    (defaultPolicyId ?? null) === (client.defaultPolicyId ?? null)
  )
}

/** Refuses a name that another client has. */
export const mustBeFree = async (em: EntityManager, name: string, ownId?: string): Promise<void> => {
  const holder = await holderOfName(em, name)
  if (holder !== undefined && holder !== ownId)
    throw new Failure('ALREADY_EXISTS', 'name is taken.', [{ field: 'name', message: 'is taken' }])
}

/** Refuses to take away the last enabled principal with ADMIN. */
export const mustLeaveAdmin = async (em: EntityManager, id: string): Promise<void> => {
  const admins = await enabledAdmins(em)
  if (admins.length === 1 && admins[0] === id) throw new Failure('LAST_ADMIN')
}

/** Refuses to delete the client of the start configuration, and the last administrator. */
export const mustBeDeletable = async (em: EntityManager, { id, systemClient }: ApiClient): Promise<void> => {
  if (systemClient)
    throw new Failure('SYSTEM_ENTITY_PROTECTED', 'This is the API client of the start configuration: it stays.')
  await mustLeaveAdmin(em, id)
}

const grantAdded = async (em: EntityManager, id: string, added: ReturnType<typeof addedTo>): Promise<void> => {
  const { realmIds, policyId } = added
  await grant(em, id, { scope: 'REALM', resourceIds: realmIds, permissions: clientGrants.REALM })
  const resourceIds = policyId ? [policyId] : []
  await grant(em, id, { scope: 'POLICY', resourceIds, permissions: clientGrants.POLICY })
}

/** Stores a new client with its grants. */
export const storeClient = async (em: EntityManager, client: NewClient): Promise<void> => {
  em.create(ApiClient, { ...client, realmIds: [...client.realmIds] })
  record(em, { type: 'ENTITY_CREATED', objectId: client.id, what: `API client ${client.name} created` })
  await em.flush()
  const { realmIds, defaultPolicyId } = client
  await grantAdded(em, client.id, addedTo({ realmIds: [] }, { realmIds, defaultPolicyId }))
}

/** Changes a client, gives it the grants of what is new to it, and takes all grants in the realms that it loses. */
export const applyChange = async (em: EntityManager, client: ApiClient, change: ClientChange): Promise<void> => {
  const before = { realmIds: client.realmIds, defaultPolicyId: client.defaultPolicyId ?? null }
  const after = assignmentAfter(client, change)
  const { name = client.name, enabled = client.enabled } = change
  const { realmIds, defaultPolicyId = null } = after
  Object.assign(client, { name, enabled, realmIds: [...realmIds], defaultPolicyId })
  record(em, { type: 'ENTITY_UPDATED', objectId: client.id, what: `API client ${client.name} updated` })
  await em.flush()
  await removeGrantsWithin(em, client.id, notAmong(before.realmIds, realmIds))
  await grantAdded(em, client.id, addedTo(before, after))
}

/** Records that a client has another secret, which is no change of the resource (contract 1.4). */
export const noteSecretReset = async (em: EntityManager, { id, name }: ApiClient, resetId: string): Promise<void> => {
  await em.execute('update api_client set secret_reset_id = ? where id = ?', [resetId, id])
  record(em, { type: 'SECRET_RESET', objectId: id, what: `Secret of API client ${name} reset` })
}

/** Deletes a client with its grants; what it created stays, and tokens that it has count no more. */
export const removeClient = async (em: EntityManager, client: ApiClient, now: Date): Promise<void> => {
  const { id, providerId, name } = client
  await em.nativeDelete(PermissionGrant, { principalId: id })
  await em.upsert(DeletedClient, { providerId, deletedDate: now })
  em.remove(client)
  record(em, { type: 'ENTITY_DELETED', objectId: id, what: `API client ${name} deleted` })
  await em.flush()
}
