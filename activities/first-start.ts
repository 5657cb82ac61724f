// What the service makes for itself at its first start (contract 4.6); later starts leave what exists.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { SettingsKey } from '../domain/settings.ts'
import { record } from '../storage/audit.ts'
import { ApiClient } from '../storage/rows/api-client.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { grant } from '../storage/grant.ts'
import { takeLock } from '../storage/lock.ts'
import { Policy } from '../storage/rows/policy.ts'
import { findOrCreatePrincipal, type TokenFacts } from '../storage/principal.ts'
import { Realm } from '../storage/rows/realm.ts'
import { Setting } from '../storage/rows/setting.ts'
import { kindOf } from '../authority/providers/kinds.ts'
import type { Services } from './services.ts'

/** Who administrates from the beginning. */
export type FirstAdmins = readonly TokenFacts[]

const valueOf = async (em: EntityManager, settingsKey: SettingsKey): Promise<string | null> =>
  (await em.findOne(Setting, { settingsKey }))?.value ?? null

const makeRealm = async (em: EntityManager): Promise<Realm> => {
  const realm = em.create(Realm, { name: 'System', systemRealm: true })
  await em.flush()
  em.create(Setting, { settingsKey: 'system.realm-id', value: realm.id })
  record(em, { type: 'ENTITY_CREATED', objectId: realm.id, realmId: realm.id, what: 'Realm System created' })
  return realm
}

const makeProvider = async (em: EntityManager, services: Services): Promise<CertificateProvider> => {
  const provider = em.create(CertificateProvider, {
    name: 'Built-in CA',
    certificateProviderType: 'LOCAL',
    settings: {},
    systemProvider: true,
  })
  await em.flush()
  await kindOf(provider).prepare(em, services, provider)
  record(em, { type: 'ENTITY_CREATED', objectId: provider.id, what: 'Certificate provider Built-in CA created' })
  return provider
}

const systemPolicies = [
  { name: 'User certificates', template: 'RA_USER', key: 'system.user-certificate-policy-id', strategy: 'EMAIL' },
  { name: 'CMP signer', template: 'CMP_SIGNER', key: 'system.cmp-signer-policy-id', strategy: 'COMMON_NAME' },
] as const

const makePolicies = async (em: EntityManager, realm: Realm, provider: CertificateProvider): Promise<void> => {
  for (const { name, template, key, strategy } of systemPolicies) {
    const policy = em.create(Policy, {
      realmId: realm.id,
      certificateProviderId: provider.id,
      name,
      certificateProviderConfiguration: JSON.stringify({ templateSignerName: template }),
      allowedKeyPairModes: ['SERVER_GEN', 'PKCS10', 'PUBLIC_KEY'],
      allowedValidForValues: ['THREE_MONTHS', 'SIX_MONTHS', 'ONE_YEAR'],
      cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA', 'EC', 'EDDSA'] },
      endEntityStrategy: strategy,
      endEntityRules: [],
      systemPolicy: true,
    })
    await em.flush()
    em.create(Setting, { settingsKey: key, value: policy.id })
    record(em, { type: 'ENTITY_CREATED', objectId: policy.id, realmId: realm.id, what: `Policy ${name} created` })
  }
}

const nameAdmins = async (em: EntityManager, admins: FirstAdmins): Promise<void> => {
  for (const facts of admins) {
    const { id, name, type } = await findOrCreatePrincipal(em.fork(), facts)
    if (type === 'API_CLIENT') await em.nativeUpdate(ApiClient, { id }, { systemClient: true })
    await grant(em, id, { scope: 'GLOBAL', resourceIds: [id], permissions: ['ADMIN'] })
    record(em, { type: 'PERMISSIONS_UPDATED', objectId: id, what: `ADMIN given to ${name}` })
  }
}

/** Makes the system realm, the built-in CA, the system policies and the first administrators, once. */
export const firstStart = (services: Services, admins: FirstAdmins): Promise<boolean> =>
  services.orm.em.fork().transactional(async em => {
    await takeLock(em, 'FIRST_START')
    if (await valueOf(em, 'system.realm-id')) return false
    const realm = await makeRealm(em)
    const provider = await makeProvider(em, services)
    await makePolicies(em, realm, provider)
    await nameAdmins(em, admins)
    return true
  })
