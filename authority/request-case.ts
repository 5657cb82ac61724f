// The case of a certificate request (contract 5.4): what the records say about it, read once for many requests, and the
// judgement on it. The same case is opened when a request is made, examined, approved and issued.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { KeyPairMode, ValidFor } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { keySpecOf, type KeySpec } from '../domain/key-rules.ts'
import type { KeyGenParams } from '../domain/policy-rules.ts'
import {
  checkRequest,
  generatedKey,
  type KeyMember,
  type KeySource,
  type RequestCase,
} from '../domain/request-rules.ts'
import { isRedacted } from '../pki/pkcs10-redaction.ts'
import { bareKey, pkcs10Key, publicKeyHash, type BroughtKey } from '../pki/keys/request-key.ts'
import { latestActive } from '../storage/issue-facts.ts'
import { surroundingsOf, type Surroundings } from '../storage/policy-surroundings.ts'
import type { Owner } from '../storage/issue-reading.ts'
import type { CertRequest } from '../storage/rows/cert-request.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { EndEntity } from '../storage/rows/end-entity.ts'
import { Policy } from '../storage/rows/policy.ts'
import { Realm } from '../storage/rows/realm.ts'
import type { Settings } from '../storage/settings.ts'
import { isMailReady } from '../storage/mails.ts'
import { termsIn } from './providers/kinds.ts'
import type { Terms } from './providers/provider.ts'
import { nextStep } from './pacing.ts'

/** What a request asks for: a stored one, or one that is about to be made. */
export interface Asked<E extends Owner = EndEntity> {
  readonly policy: Policy
  readonly endEntity: E
  /** Null when a key is only examined. */
  readonly validFor: ValidFor | null
  readonly keyPairMode: KeyPairMode
  readonly keyGenParams: KeyGenParams | null
  /** PKCS#10 request, DER. */
  readonly pkcs10: Buffer | null
  /** Whether its signature was checked before the secrets in it were taken out, and the signature with them. */
  readonly proven?: boolean
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer | null
  /** Whether it is to be the RA certificate of the user whom the end entity stands for. */
  readonly forRaCertificate?: boolean
}

/** How cases are looked at. */
export interface CaseView {
  readonly now: Date
  /** Whether mail works, which new requests may need; null for those that are there already. */
  readonly mail: { readonly enabled: boolean } | null
}

/** A request with everything that decides on it. */
export interface OpenCase<E extends Owner = EndEntity> extends CaseView {
  readonly asked: Asked<E>
  readonly realm: Realm
  readonly provider: CertificateProvider
  /** The notAfter of the CA that would issue, where it is known. */
  readonly caNotAfter: Date | null
  /** Whether the CA above it has revoked it. */
  readonly caRevoked: boolean
  /** The key that came with the request; absent where the service makes it. */
  readonly brought: BroughtKey | null
  readonly compromised: boolean
  readonly latestActive: Date | null
}

const byId = <T extends { id: string }>(rows: readonly T[]): ReadonlyMap<string, T> =>
  new Map(rows.map(row => [row.id, row]))

const found = <T>(rows: ReadonlyMap<string, T>, id: string): T => {
  const row = rows.get(id)
  if (row === undefined) throw new Error(`A row that a foreign key names is missing: ${id}`)
  return row
}

const idsOf = (ids: readonly (string | null | undefined)[]) => ({
  id: { $in: [...new Set(ids.filter(id => typeof id === 'string'))] },
})

type StoredKey = Pick<CertRequest, 'validFor' | 'keyPairMode' | 'keyGenParamsDto' | 'pkcs10' | 'publicKey'>

/** Which key for how long a stored request asks for. */
export const keyAskedBy = (request: StoredKey): Omit<Asked, 'policy' | 'endEntity'> => ({
  validFor: request.validFor ?? 'ONE_DAY',
  keyPairMode: request.keyPairMode,
  keyGenParams: request.keyGenParamsDto ?? null,
  pkcs10: request.pkcs10 ?? null,
  proven: request.pkcs10 ? isRedacted(request.pkcs10) : false,
  publicKey: request.publicKey ?? null,
})

/** What stored requests ask for. */
export const askedBy = async (em: EntityManager, requests: readonly CertRequest[]): Promise<Asked[]> => {
  const policies = byId(await em.find(Policy, idsOf(requests.map(({ policyId }) => policyId))))
  const endEntities = byId(await em.find(EndEntity, idsOf(requests.map(({ endEntityId }) => endEntityId))))
  return requests.map(request => ({
    ...keyAskedBy(request),
    policy: found(policies, request.policyId),
    endEntity: found(endEntities, request.endEntityId),
  }))
}

const provenKey = (key: BroughtKey): BroughtKey => ({ ...key, checkProof: () => undefined })

/** The members that a key comes in. */
type KeyCarrier = Pick<Asked, 'keyPairMode' | 'pkcs10' | 'proven' | 'publicKey'>

const broughtKey = async ({
  keyPairMode,
  pkcs10,
  proven = false,
  publicKey,
}: KeyCarrier): Promise<BroughtKey | null> => {
  if (keyPairMode === 'PKCS10' && pkcs10) return proven ? provenKey(await pkcs10Key(pkcs10)) : pkcs10Key(pkcs10)
  return keyPairMode === 'PUBLIC_KEY' && publicKey ? bareKey(publicKey) : null
}

/** The hash of a key; null for one that cannot be read, which the check that reads it refuses in its place in the order. */
const hashOf = (key: BroughtKey | null): string | null => {
  try {
    return key && publicKeyHash(key.spki())
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

/** Reads each key and checks its signature here once and for all, a key a step. */
const readKeys = async (all: readonly KeyCarrier[]) => {
  const keys: { readonly brought: BroughtKey | null; readonly hash: string | null }[] = []
  for (const carrier of all) {
    if (keys.length > 0) await nextStep()
    const brought = await broughtKey(carrier)
    keys.push({ brought, hash: hashOf(brought) })
  }
  return keys
}

const isPresent = <T>(value: T | null): value is T => value !== null

/** The end of the latest active certificate by policy and end entity, where the policy allows one at a time. */
const latestByPolicy = async (em: EntityManager, all: readonly Asked[], now: Date) => {
  const latest = new Map<string, ReadonlyMap<string, Date>>()
  for (const [{ id, enforceActiveCertUniqueness }, ofPolicy] of Map.groupBy(all, ({ policy }) => policy))
    if (enforceActiveCertUniqueness)
      latest.set(id, await latestActive(em, id, { endEntityIds: ofPolicy.map(one => one.endEntity.id), now }))
  return ({ policy, endEntity }: Asked): Date | null => latest.get(policy.id)?.get(endEntity.id) ?? null
}

/** What is known of a request beside what it asks for. */
export type Beside = Surroundings & Pick<OpenCase, 'brought' | 'compromised'>

/** Reads the keys that came with requests, and in one statement what stands around them; in their order. */
export const lookAround = async (
  em: EntityManager,
  all: readonly (KeyCarrier & { readonly policyId: string })[],
): Promise<Beside[]> => {
  const keys = await readKeys(all)
  const hashes = keys.map(({ hash }) => hash).filter(isPresent)
  const around = await surroundingsOf(
    em,
    all.map(({ policyId }) => policyId),
    hashes,
  )
  return all.map(({ policyId }, index) => {
    const { brought = null, hash = null } = keys[index] ?? {}
    return { ...found(around.of, policyId), brought, compromised: around.compromised.has(hash ?? '') }
  })
}

/** Reads everything that decides on these requests. */
export const openCases = async (em: EntityManager, all: readonly Asked[], view: CaseView): Promise<OpenCase[]> => {
  const beside = await lookAround(
    em,
    all.map(({ policy, ...asked }) => ({ ...asked, policyId: policy.id })),
  )
  const latestOf = await latestByPolicy(em, all, view.now)
  return all.map((asked, index) => ({ ...view, ...(beside[index] as Beside), asked, latestActive: latestOf(asked) }))
}

/** Opens the case of one request. */
export const openCase = async (em: EntityManager, asked: Asked, view: CaseView): Promise<OpenCase> => {
  const [one] = await openCases(em, [asked], view)
  return one as OpenCase
}

const termsFor = ({ realm, provider, asked: { policy } }: OpenCase<Owner>): Terms =>
  termsIn(realm, provider, policy.certificateProviderConfiguration)

/** Refuses a policy whose template its provider no longer has: INVALID_POLICY_CONFIGURATION, TEMPLATE_NOT_FOUND. */
export const checkTemplate = async (em: EntityManager, policy: Policy): Promise<void> => {
  const provider = await em.findOneOrFail(CertificateProvider, policy.certificateProviderId)
  termsIn(await em.findOneOrFail(Realm, policy.realmId), provider, policy.certificateProviderConfiguration)
}

/** The kind of key that the service is to make for a SERVER_GEN request. */
export const keyToMake = (open: OpenCase<Owner>): KeySpec => {
  const { keyGenParams, policy } = open.asked
  if (!keyGenParams) throw new Failure('VALIDATION_FAILED', 'The request does not say which key to make.')
  return keySpecOf(keyGenParams, policy.cryptoRestrictions, termsFor(open).capabilities)
}

const keyOf = ({ brought, asked: { keyGenParams, policy } }: OpenCase<Owner>, { capabilities }: Terms): KeySource =>
  brought ?? generatedKey(keyGenParams ?? { cryptoAlgorithm: 'RSA' }, policy.cryptoRestrictions, capabilities)

const membersOf = ({ keyGenParams, pkcs10, publicKey }: Asked<Owner>): KeyMember[] => {
  const members = { keyGenParamsDto: keyGenParams, pkcs10ReqBase64: pkcs10, publicKeyBase64: publicKey }
  return (Object.keys(members) as KeyMember[]).filter(member => members[member] !== null)
}

/** The case as the rules of `domain` look at it; INVALID_POLICY_CONFIGURATION or TEMPLATE_NOT_FOUND. */
export const caseOf = (open: OpenCase<Owner>): RequestCase => {
  const { asked, realm, now, mail, caNotAfter, caRevoked } = open
  const { policy, endEntity, validFor, keyPairMode, forRaCertificate = false } = asked
  const terms = termsFor(open)
  return {
    realm,
    policy,
    endEntity: endEntity.fields,
    request: { validFor, keyPairMode, present: membersOf(asked), forRaCertificate },
    key: keyOf(open, terms),
    template: terms,
    capabilities: terms.capabilities,
    mail,
    latestActive: open.latestActive,
    keyCompromised: open.compromised,
    now,
    caNotAfter,
    caRevoked,
  }
}

/** Throws the first refusal of contract 5.4. */
export const judge = (open: OpenCase<Owner>): void => checkRequest(caseOf(open))

/** How a request is looked at that is about to be made: it may need mail that works. */
export const newCaseView = async (settings: Settings, clock: () => Date): Promise<CaseView> => ({
  now: clock(),
  mail: { enabled: await isMailReady(settings) },
})
