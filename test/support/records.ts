// Records that tests begin with, made straight in the database: what is not said gets a default.
import { randomUUID } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { endEntityFields, type SubjectData } from '../../domain/end-entity-rules.ts'
import { everything, policyDefaults } from '../../domain/policy-rules.ts'
import { completeLocal } from '../../domain/local-provider.ts'
import { CertificateProvider } from '../../storage/certificate-provider.ts'
import { EndEntity } from '../../storage/end-entity.ts'
import { Policy } from '../../storage/policy.ts'
import { Realm } from '../../storage/realm.ts'

const unique = (word: string): string => `${word} ${randomUUID()}`

/** A realm. */
export const makeRealm = async (em: EntityManager, members: { name?: string; archived?: boolean } = {}) => {
  const realm = em.create(Realm, { name: unique('Realm'), ...members })
  await em.flush()
  return realm
}

/** A LOCAL provider without keys. */
export const makeProvider = async (em: EntityManager, members: { name?: string; archived?: boolean } = {}) => {
  const name = unique('Provider')
  const settings = { ...completeLocal(name, {}) }
  const provider = em.create(CertificateProvider, { name, certificateProviderType: 'LOCAL', settings, ...members })
  await em.flush()
  return provider
}

/** A policy of a realm (with a provider of its own unless one is named). */
export const makePolicy = async (em: EntityManager, realm: Realm, members: Partial<Policy> = {}) => {
  const policy = em.create(Policy, {
    realmId: realm.id,
    name: unique('Policy'),
    certificateProviderId: members.certificateProviderId ?? (await makeProvider(em)).id,
    certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}',
    endEntityStrategy: 'COMMON_NAME',
    endEntityRules: [],
    ...policyDefaults(everything),
    ...(members as object),
  })
  await em.flush()
  return policy
}

/** An end entity of a realm. */
export const makeEndEntity = async (
  em: EntityManager,
  realm: Realm,
  members: SubjectData & { archived?: boolean } = {},
) => {
  const { archived = false, ...subject } = members
  const fields = endEntityFields({ commonName: unique('cn'), ...subject })
  const endEntity = em.create(EndEntity, { realmId: realm.id, archived, ...fields })
  await em.flush()
  return endEntity
}
