// The checks of contract 5.4 when a request is made: what the records say, gathered once for all requests of a call.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../domain/failure.ts'
import { specOf } from '../domain/key-rules.ts'
import type { KeyGenParams } from '../domain/policy-rules.ts'
import { generatedKey, type KeyMember, type KeySource, type RequestCase } from '../domain/request-rules.ts'
import type { KeyPairMode, ValidFor } from '../domain/enums.ts'
import { capabilitiesOf, templateFor } from './templates.ts'
import { templateNeeds } from '../pki/certificate/templates.ts'
import { bareKey, pkcs10Key, publicKeyHash, type BroughtKey } from '../pki/keys/request-key.ts'
import { Ca } from '../storage/rows/ca.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import type { EndEntity } from '../storage/rows/end-entity.ts'
import { compromisedKeys, latestActive } from '../storage/issue-facts.ts'
import type { Policy } from '../storage/rows/policy.ts'
import { Realm } from '../storage/rows/realm.ts'
import type { Settings } from '../storage/settings.ts'

/** What a new request brings. */
export interface KeyInput {
  /** Null when a key is only examined. */
  readonly validFor: ValidFor | null
  readonly keyPairMode: KeyPairMode
  readonly keyGenParamsDto: KeyGenParams | null
  /** DER. */
  readonly pkcs10ReqBase64: Uint8Array | null
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKeyBase64: Uint8Array | null
}

interface Surroundings {
  readonly em: EntityManager
  readonly settings: Settings
  readonly clock: () => Date
}

const isMailReady = async (settings: Settings): Promise<boolean> =>
  (await settings.isOn('mail.enabled')) &&
  Boolean((await settings.text('mail.host')) && (await settings.text('mail.from')))

const broughtKey = ({ keyPairMode, pkcs10ReqBase64, publicKeyBase64 }: KeyInput): BroughtKey | null => {
  if (keyPairMode === 'PKCS10' && pkcs10ReqBase64) return pkcs10Key(Buffer.from(pkcs10ReqBase64))
  return keyPairMode === 'PUBLIC_KEY' && publicKeyBase64 ? bareKey(Buffer.from(publicKeyBase64)) : null
}

const isCompromised = async (em: EntityManager, key: BroughtKey | null): Promise<boolean> => {
  if (!key) return false
  try {
    return (await compromisedKeys(em, [publicKeyHash(key.spki())])).size > 0
  } catch (error) {
    // An unreadable key is refused by the check that reads it, in its place in the order.
    if (error instanceof Failure) return false
    throw error
  }
}

const membersOf = (input: KeyInput): KeyMember[] =>
  (['keyGenParamsDto', 'pkcs10ReqBase64', 'publicKeyBase64'] as const).filter(member => input[member] !== null)

/** Gathers the records and answers how to make the case of each end entity. */
export const gatherCase = async ({ em, settings, clock }: Surroundings, policy: Policy, input: KeyInput) => {
  const provider = await em.findOneOrFail(CertificateProvider, policy.certificateProviderId)
  const realm = await em.findOneOrFail(Realm, policy.realmId)
  const ca = provider.issuingCaId ? await em.findOne(Ca, provider.issuingCaId) : null
  const template = templateFor(provider, policy.certificateProviderConfiguration)
  const brought = broughtKey(input)
  const keyCompromised = await isCompromised(em, brought)
  const mail = { enabled: await isMailReady(settings) }
  const fallback = input.keyGenParamsDto ?? { cryptoAlgorithm: 'RSA' as const }
  const capabilities = capabilitiesOf(provider, policy.certificateProviderConfiguration)
  const key: KeySource = brought ?? generatedKey(fallback, policy.cryptoRestrictions, capabilities)
  const latestOf = (endEntities: readonly EndEntity[]) =>
    policy.enforceActiveCertUniqueness
      ? latestActive(em, policy.id, { endEntityIds: endEntities.map(({ id }) => id), now: clock() })
      : Promise.resolve(new Map<string, Date>())
  const caseOf = (endEntity: EndEntity, latest: ReadonlyMap<string, Date>): RequestCase => ({
    realm,
    policy,
    endEntity: endEntity.fields,
    request: { validFor: input.validFor, keyPairMode: input.keyPairMode, present: membersOf(input) },
    key,
    template: { needs: (subject, facts) => templateNeeds(template, subject, specOf(facts)) },
    capabilities,
    mail,
    latestActive: latest.get(endEntity.id) ?? null,
    keyCompromised,
    now: clock(),
    caNotAfter: ca?.validNotAfter ?? null,
  })
  return { caseOf, latestOf }
}
