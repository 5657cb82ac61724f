// The settings that name resources of the service itself (contract 4.6, 9.1): what they may name, and that the resources
// know it.
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuseSetting } from '../../../domain/setting-rules.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'

const realmKey = 'system.realm-id'
const userKey = 'system.user-certificate-policy-id'
const cmpKey = 'system.cmp-signer-policy-id'
const policyKeys = [userKey, cmpKey] as const

type ValueOf = (key: string) => string | null

const touchesSystem = (changed: ReadonlySet<string>): boolean =>
  changed.has(realmKey) || policyKeys.some(key => changed.has(key))

const mustBeRealm = async (em: EntityManager, id: string): Promise<void> => {
  if ((await em.count(Realm, { id, archived: false })) === 0)
    refuseSetting(realmKey, `must be the id of a realm that is not archived, not "${id}"`)
}

const mustBePolicy = async (em: EntityManager, key: string, { id, realmId }: { id: string; realmId: string }) => {
  const policy = await em.findOne(Policy, { id, realmId, archived: false })
  if (!policy)
    return refuseSetting(key, `must be the id of a policy of the system realm that is not archived, not "${id}"`)
  if (key === cmpKey && !policy.allowedKeyPairModes.includes('SERVER_GEN'))
    refuseSetting(key, `must be the id of a policy that allows SERVER_GEN, unlike "${id}"`)
}

const mustHoldPolicy = async (em: EntityManager, key: string, { id, realmId }: { id: string; realmId: string }) => {
  if ((await em.count(Policy, { id, realmId })) === 0)
    refuseSetting(realmKey, `must be the realm of the policy that ${key} names: change both in one batch`)
}

/** Refuses ids, as they would be after a change, that do not name what the service needs: INVALID_SETTING. */
export const mustFitTheSystem = async (
  em: EntityManager,
  valueOf: ValueOf,
  changed: ReadonlySet<string>,
): Promise<void> => {
  if (!touchesSystem(changed)) return
  const realmId = valueOf(realmKey)
  if (realmId === null) return refuseSetting([...changed][0] ?? realmKey, `needs ${realmKey}, which has no value`)
  if (changed.has(realmKey)) await mustBeRealm(em, realmId)
  for (const key of policyKeys) {
    const id = valueOf(key)
    if (id === null) continue
    if (changed.has(key)) await mustBePolicy(em, key, { id, realmId })
    else if (changed.has(realmKey)) await mustHoldPolicy(em, key, { id, realmId })
  }
}

/** Marks the realm and the policies that the settings name as those of the system, and no others. */
export const followSystemSettings = async (
  em: EntityManager,
  valueOf: ValueOf,
  changed: ReadonlySet<string>,
): Promise<void> => {
  if (!touchesSystem(changed)) return
  const realmId = valueOf(realmKey)
  for (const realm of await em.find(Realm, { $or: [{ systemRealm: true }, { id: realmId ?? '' }] }))
    realm.systemRealm = realm.id === realmId
  const ids = policyKeys.flatMap(key => valueOf(key) ?? [])
  for (const policy of await em.find(Policy, { $or: [{ systemPolicy: true }, { id: { $in: ids } }] }))
    policy.systemPolicy = ids.includes(policy.id)
}
