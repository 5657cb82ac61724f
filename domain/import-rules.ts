// Which certificates of other CAs a policy takes in, and to which end entities they may go (contract 10.4).
import { canonicalDomain, canonicalEmail, canonicalIp } from './address.ts'
import { endEntityViolations, ruleViolations, type SubjectData } from './end-entity-rules.ts'
import type { CryptoAlgorithm, EndEntityStrategy } from './enums.ts'
import { Failure } from './failure.ts'
import type { EndEntityRule } from './policy-rules.ts'

/** What imports depend on in a policy; its other limits do not bind them. */
export interface ImportPolicy {
  readonly certificateImportAllowed: boolean
  readonly selfSignedAllowed: boolean
  readonly endEntityStrategy: EndEntityStrategy
  readonly endEntityRules: readonly EndEntityRule[]
}

/** What an import as a whole works with. */
export interface ImportFrame {
  readonly realm: { readonly archived: boolean }
  readonly policy: ImportPolicy & { readonly realmId: string; readonly archived: boolean }
  /** The end entity that all certificates go to, where one is named. */
  readonly endEntity:
    | { readonly realmId: string; readonly archived: boolean; readonly userId?: string | null | undefined }
    | undefined
}

/** Throws when an end entity takes no imports: that of a user's RA certificate has operations of its own (contract 5.2). */
const mustTakeImports = ({ userId }: { readonly userId?: string | null | undefined }): void => {
  if (userId) throw new Failure('VALIDATION_FAILED', 'The end entity belongs to the RA certificate of a user.')
}

/** Throws what refuses an import as a whole. */
export const checkImport = ({ realm, policy, endEntity }: ImportFrame): void => {
  if (realm.archived || policy.archived || endEntity?.archived) throw new Failure('ENTITY_ARCHIVED')
  if (endEntity && endEntity.realmId !== policy.realmId)
    throw new Failure('REALM_MISMATCH', 'Policy and end entity are of different realms.')
  if (!policy.certificateImportAllowed) throw new Failure('IMPORT_NOT_ALLOWED')
  if (endEntity) mustTakeImports(endEntity)
}

/** Throws when a policy does not take a certificate for what it is. */
export const checkCertificate = (
  { selfSignedAllowed }: ImportPolicy,
  { cryptoAlgorithm, selfSigned }: { cryptoAlgorithm: CryptoAlgorithm | null; selfSigned: boolean },
): void => {
  if (cryptoAlgorithm === null)
    throw new Failure('CRYPTO_RESTRICTION_VIOLATION', 'The algorithm of the key is not supported.')
  if (selfSigned && !selfSignedAllowed) throw new Failure('SELF_SIGNED_NOT_ALLOWED')
}

const canonical = (form: (text: string) => string | null, text: string): string => form(text) ?? text

/** Subject data with each address in its canonical form; what has none stays as it came. */
export const canonicalNames = <S extends SubjectData>(names: S): S => ({
  ...names,
  country: names.country?.toUpperCase() ?? null,
  email: names.email ? canonical(canonicalEmail, names.email) : null,
  domains: (names.domains ?? []).map(domain => canonical(canonicalDomain, domain)),
  ips: (names.ips ?? []).map(ip => canonical(canonicalIp, ip)),
})

/** An end entity that exists. */
export interface Owner extends SubjectData {
  readonly userId?: string | null | undefined
}

// What an end entity must have need not stand in each of its certificates: those of the service do not hold it either.
const withoutDemands = (rules: readonly EndEntityRule[]): EndEntityRule[] =>
  rules.map(rule => (rule.requirement === 'REQUIRED' ? { ...rule, requirement: 'OPTIONAL' } : rule))

/**
 * Throws when a certificate with these names may not go to its owner, or (without one) when no end entity may be made
 * from the names. The owner meets strategy and rules as at an issue; what the certificate holds breaks none of the rules.
 */
export const checkOwner = (policy: ImportPolicy, names: SubjectData, owner: Owner | null): void => {
  if (owner) mustTakeImports(owner)
  const violations = owner
    ? [...endEntityViolations(policy, owner), ...ruleViolations(withoutDemands(policy.endEntityRules), names)]
    : endEntityViolations(policy, names)
  if (violations.length === 0) return
  const details = violations.map(({ property, message }) => `${property}: ${message}`).join('; ')
  throw new Failure('END_ENTITY_RULE_VIOLATION', `The rules or the strategy of the policy are broken: ${details}`)
}
