// THE twelve checks of a certificate request, at creation and again at issue, in their order (contract 5.4).
import { endEntityViolations, type EndEntityFields, type Held } from './end-entity-rules.ts'
import type { EndEntityStrategy, KeyPairMode, ValidFor } from './enums.ts'
import { Failure } from './failure.ts'
import { checkCryptoRestrictions, factsOf, keySpecOf, type KeyFacts } from './key-rules.ts'
import { namesAtOdds, type Pkcs10Names } from './pkcs10-rules.ts'
import {
  defaultRenewalWindowDays,
  everything,
  type Capabilities,
  type CryptoRestrictions,
  type EndEntityRule,
  type KeyGenParams,
} from './policy-rules.ts'
import { validity } from './validity.ts'

/** The members of a request of which exactly one brings or describes the key. */
export type KeyMember = 'keyGenParamsDto' | 'pkcs10ReqBase64' | 'publicKeyBase64'

/** The key of a request; `pki` reads brought keys, `generatedKey` stands for one that is still to be made. */
export interface KeySource {
  /** What the key is; throws INVALID_PKCS10 or INVALID_PUBLIC_KEY when it cannot be read. */
  describe(): KeyFacts
  /** Throws INVALID_PKCS10 when the signature of the PKCS#10 request does not prove that its sender holds the key. */
  checkProof(): void
  /** Throws WEAK_KEY. */
  checkStrength(): void
  /** The names beside the key in a PKCS#10 request, else null. */
  names(): Pkcs10Names | null
}

/** One thing that a template needs and does not get. */
interface TemplateNeed {
  readonly message: string
}

/** Everything that decides whether a request may be made or issued. */
export interface RequestCase {
  readonly realm: { readonly archived: boolean }
  readonly policy: {
    readonly realmId: string
    readonly archived: boolean
    readonly allowedKeyPairModes: readonly KeyPairMode[]
    readonly allowedValidForValues: readonly ValidFor[]
    readonly cryptoRestrictions: CryptoRestrictions
    readonly endEntityStrategy: EndEntityStrategy
    readonly endEntityRules: readonly EndEntityRule[]
    readonly wildcardAllowed: boolean
    readonly requiresEmailVerification: boolean
    readonly enforceActiveCertUniqueness: boolean
    readonly renewalWindowDays?: number | null | undefined
  }
  readonly endEntity: EndEntityFields & {
    readonly realmId: string
    readonly archived: boolean
    readonly userId?: string | null | undefined
  }
  readonly request: {
    /** Null when a key is examined before anybody asks for a period. */
    readonly validFor: ValidFor | null
    readonly keyPairMode: KeyPairMode
    /** The members of the request that are there. */
    readonly present: readonly KeyMember[]
    /** Whether an operation of RA certificates asks: only those serve the end entities of users. */
    readonly forRaCertificate?: boolean
  }
  readonly key: KeySource
  readonly template: {
    needs(subject: EndEntityFields, key: KeyFacts): readonly TemplateNeed[]
    /** What the certificate will hold of the end entity: the rules are judged on that. */
    readonly held: Held
  }
  /** What the provider can do; absent: everything. */
  readonly capabilities?: Capabilities
  /** Whether mail works; null at issue, when nobody asks any more. */
  readonly mail: { readonly enabled: boolean } | null
  /** The notAfter of the latest ACTIVE certificate of this end entity and policy. */
  readonly latestActive: Date | null
  /** Whether a certificate of this key was ever revoked with KEY_COMPROMISE. */
  readonly keyCompromised: boolean
  readonly now: Date
  /** The notAfter of the CA that would issue, where it is known. */
  readonly caNotAfter: Date | null
  /** Whether the CA above it has revoked it. */
  readonly caRevoked: boolean
}

/** A key that the service is to generate: the absent parameter is the first that the policy allows. */
export const generatedKey = (
  params: KeyGenParams,
  restrictions: CryptoRestrictions,
  able: Capabilities = everything,
): KeySource => ({
  describe: () => factsOf(keySpecOf(params, restrictions, able)),
  checkProof: () => undefined,
  checkStrength: () => undefined,
  names: () => null,
})

type Check = (request: RequestCase) => void

const refuse: (...failure: ConstructorParameters<typeof Failure>) => never = (...failure) => {
  throw new Failure(...failure)
}

/** Throws unless policy and end entity are of one realm and nothing is archived: else nothing more can be judged. */
export const checkBelonging: Check = ({ realm, policy, endEntity }) => {
  if (policy.realmId !== endEntity.realmId) refuse('REALM_MISMATCH', 'Policy and end entity are of different realms.')
  if (realm.archived || policy.archived || endEntity.archived) refuse('ENTITY_ARCHIVED')
}

const memberOf = {
  SERVER_GEN: 'keyGenParamsDto',
  PKCS10: 'pkcs10ReqBase64',
  PUBLIC_KEY: 'publicKeyBase64',
} as const satisfies Record<KeyPairMode, KeyMember>

const keyPairMode: Check = ({ policy, request }) => {
  const { keyPairMode: mode, present } = request
  if (!policy.allowedKeyPairModes.includes(mode)) refuse('KEY_PAIR_MODE_NOT_ALLOWED')
  const wanted = memberOf[mode]
  const odd = present.find(member => member !== wanted) ?? (present.includes(wanted) ? undefined : wanted)
  if (odd)
    refuse('VALIDATION_FAILED', `${mode} takes ${wanted} and no other key.`, [
      { field: odd, message: odd === wanted ? 'Must be present' : 'Must be absent' },
    ])
}

const ownerOfUser: Check = ({ endEntity, request, mail }) => {
  if (endEntity.userId && mail !== null && request.forRaCertificate !== true)
    refuse('VALIDATION_FAILED', 'The end entity belongs to the RA certificate of a user.')
}

const period: Check = ({ policy, request: { validFor }, now, caNotAfter, caRevoked, capabilities = everything }) => {
  if (validFor === null) return
  if (!policy.allowedValidForValues.includes(validFor)) refuse('VALID_FOR_NOT_ALLOWED')
  if (!capabilities.validForValues.includes(validFor))
    refuse('VALID_FOR_NOT_ALLOWED', 'The template of the policy does not allow this period.')
  if (caRevoked)
    refuse('VALID_FOR_NOT_ALLOWED', 'The CA of the policy is revoked: nothing is issued until a next one takes over.')
  if (caNotAfter && validity(validFor, now, 0).notAfter > caNotAfter)
    refuse('VALID_FOR_NOT_ALLOWED', 'The certificate would outlive its CA.')
}

const readableKey: Check = ({ key }) => void key.describe()

const provenKey: Check = request => {
  request.key.checkProof()
  readableKey(request)
}

const cryptoRestrictions: Check = ({ policy, key, capabilities }) =>
  checkCryptoRestrictions(policy.cryptoRestrictions, key.describe(), capabilities)

const keyStrength: Check = ({ key, keyCompromised }) => {
  key.checkStrength()
  if (keyCompromised) refuse('WEAK_KEY', 'A certificate of this key was revoked because the key is known to others.')
}

const endEntityRules: Check = ({ policy, endEntity, template }) => {
  const violations = endEntityViolations(policy, endEntity, template.held)
  if (violations.length > 0)
    refuse(
      'END_ENTITY_RULE_VIOLATION',
      'The end entity breaks the rules of the policy or lacks the field of its strategy.',
      violations.map(({ property, message }) => ({ field: property, message })),
    )
}

const wildcards: Check = ({ policy, endEntity, template }) => {
  const { domains, commonName } = template.held(endEntity)
  const names = commonName === null ? domains : [...domains, commonName]
  if (!policy.wildcardAllowed && names.some(name => name.startsWith('*.'))) refuse('WILDCARD_NOT_ALLOWED')
}

const pkcs10Names: Check = ({ key, endEntity }) => {
  const names = key.names()
  const odds = names ? namesAtOdds(names, endEntity) : []
  if (odds.length > 0)
    refuse(
      'PKCS10_MISMATCH',
      undefined,
      odds.map(({ property, message }) => ({ field: property ?? 'pkcs10ReqBase64', message })),
    )
}

const templateNeeds: Check = ({ template, endEntity, key }) => {
  const needs = template.needs(endEntity, key.describe())
  if (needs.length > 0) refuse('END_ENTITY_RULE_VIOLATION', needs.map(({ message }) => message).join('; '))
}

const emailVerification: Check = ({ policy, endEntity, mail }) => {
  if (!policy.requiresEmailVerification || mail === null) return
  if (endEntity.email === null) refuse('EMAIL_MISSING')
  if (!mail.enabled) refuse('MAIL_NOT_CONFIGURED')
}

const dayMs = 86_400_000

const uniqueness: Check = ({ policy, latestActive, now }) => {
  if (!policy.enforceActiveCertUniqueness || latestActive === null) return
  const window = (policy.renewalWindowDays ?? defaultRenewalWindowDays) * dayMs
  if (latestActive.getTime() - now.getTime() > window) refuse('ACTIVE_CERTIFICATE_EXISTS')
}

/** The checks in the order of the contract, and whether each can be made of a key that cannot be read. */
const checks: readonly { readonly check: Check; readonly ofKey?: true }[] = [
  { check: checkBelonging },
  { check: keyPairMode },
  { check: ownerOfUser },
  { check: period },
  { check: provenKey },
  { check: cryptoRestrictions, ofKey: true },
  { check: keyStrength, ofKey: true },
  { check: endEntityRules },
  { check: wildcards },
  { check: pkcs10Names, ofKey: true },
  { check: templateNeeds, ofKey: true },
  { check: emailVerification },
  { check: uniqueness },
]

/** Throws the first refusal of a request. */
export const checkRequest = (request: RequestCase): void => {
  for (const { check } of checks) check(request)
}

const refusalOf = (check: Check, request: RequestCase): Failure | null => {
  try {
    check(request)
    return null
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

/** Every refusal of a request, in the order of the checks; of an unreadable key only that is said. */
export const refusalsOf = (request: RequestCase): Failure[] => {
  const unreadable = refusalOf(readableKey, request) !== null
  return checks
    .filter(({ ofKey }) => !(ofKey && unreadable))
    .map(({ check }) => refusalOf(check, request))
    .filter(failure => failure !== null)
}
