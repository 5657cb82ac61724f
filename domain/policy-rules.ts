// The rules of policies (contract 5.1): what they restrict, and whether they contradict themselves.
import {
  CryptoAlgorithm,
  ECNamedCurve,
  EdDSANamedCurve,
  KeyPairMode,
  MlDsaParameterSet,
  rsaKeySizes,
  ValidFor,
  valuesOf,
  type CmpSignatureAlgorithm,
  type EndEntityProperty,
  type RsaKeySize,
  type RuleRequirement,
} from './enums.ts'
import { Failure, type FieldError } from './failure.ts'
import { isPattern, longestPattern } from './pattern.ts'
import { isLongerThan } from './validity.ts'

/** The key that the service is to generate; the parameter of the algorithm may be absent (= its first value). */
export interface KeyGenParams {
  cryptoAlgorithm: CryptoAlgorithm
  keySize?: RsaKeySize | null | undefined
  ecNamedCurve?: ECNamedCurve | null | undefined
  edDSANamedCurve?: EdDSANamedCurve | null | undefined
  mlDsaParameterSet?: MlDsaParameterSet | null | undefined
}

/** Which keys a policy allows; an absent or empty list allows all that the provider supports. */
export interface CryptoRestrictions {
  allowedCryptoAlgorithms: CryptoAlgorithm[]
  allowedRsaKeySizes?: RsaKeySize[] | null | undefined
  allowedEcNamedCurves?: ECNamedCurve[] | null | undefined
  allowedEdDSANamedCurves?: EdDSANamedCurve[] | null | undefined
  allowedMlDsaParameterSets?: MlDsaParameterSet[] | null | undefined
}

/** A demand on one property of end entities (contract 5.5). */
export interface EndEntityRule {
  property: EndEntityProperty
  requirement: RuleRequirement
  pattern?: string | null | undefined
  genericKey?: string | null | undefined
  maxCount?: number | null | undefined
}

/** How a policy takes part in CMP. */
export interface CmpPolicyConfiguration {
  enabled: boolean
  signatureAlgorithm: CmpSignatureAlgorithm
  signerCertificateId?: string | null | undefined
  macProtectionAllowed: boolean
  signatureProtectionAllowed: boolean
  certConfirmationRequired: boolean
}

/** How a policy takes part in SCEP. */
export interface ScepPolicyConfiguration {
  enabled: boolean
  signerMode: 'RA' | 'CA'
  signerCertificateId?: string | null | undefined
}

/** What a provider can do for a policy: the lists of CryptoParametersDto, and the algorithm of its CA where it has one. */
export interface Capabilities {
  readonly cryptoAlgorithms: readonly CryptoAlgorithm[]
  readonly rsaKeySizes: readonly RsaKeySize[]
  readonly ecNamedCurves: readonly ECNamedCurve[]
  readonly edDSANamedCurves: readonly EdDSANamedCurve[]
  readonly mlDsaParameterSets: readonly MlDsaParameterSet[]
  readonly keyPairModes: readonly KeyPairMode[]
  readonly validForValues: readonly ValidFor[]
  readonly caAlgorithm?: CryptoAlgorithm | null
}

/** Everything that the installation can make, as LOCAL does. */
export const everything: Capabilities = {
  cryptoAlgorithms: valuesOf(CryptoAlgorithm),
  rsaKeySizes,
  ecNamedCurves: valuesOf(ECNamedCurve),
  edDSANamedCurves: valuesOf(EdDSANamedCurve),
  mlDsaParameterSets: valuesOf(MlDsaParameterSet),
  keyPairModes: valuesOf(KeyPairMode),
  validForValues: valuesOf(ValidFor),
}

/** What remains of the capabilities under a template that takes RSA keys only or bounds the period. */
export const withinTemplate = (
  capabilities: Capabilities,
  { rsaOnly, maxValidFor }: { readonly rsaOnly: boolean; readonly maxValidFor: ValidFor | null },
): Capabilities => ({
  ...capabilities,
  ...(rsaOnly && { cryptoAlgorithms: ['RSA'], ecNamedCurves: [], edDSANamedCurves: [], mlDsaParameterSets: [] }),
  ...(maxValidFor && {
    validForValues: capabilities.validForValues.filter(validFor => !isLongerThan(validFor, maxValidFor)),
  }),
})

/** The part of a policy that can contradict itself or its provider. */
export interface PolicyRules {
  requiresManualApproval: boolean
  dualControl: boolean
  allowedKeyPairModes: KeyPairMode[]
  allowedValidForValues: ValidFor[]
  cryptoRestrictions: CryptoRestrictions
  endEntityRules: EndEntityRule[]
  enforceActiveCertUniqueness: boolean
  renewalWindowDays?: number | null | undefined
  scepConfiguration?: ScepPolicyConfiguration | null | undefined
}

/** The days before expiry from which a unique certificate may be renewed, where the policy says nothing. */
export const defaultRenewalWindowDays = 30

const defaultModes: readonly KeyPairMode[] = ['SERVER_GEN', 'PKCS10']
const defaultPeriods: readonly ValidFor[] = ['THREE_MONTHS', 'SIX_MONTHS', 'ONE_YEAR']

/** What a new policy allows where it says nothing, as far as the provider supports it (contract 6.6). */
export const policyDefaults = (
  able: Capabilities,
): Pick<PolicyRules, 'allowedKeyPairModes' | 'allowedValidForValues' | 'cryptoRestrictions'> => ({
  allowedKeyPairModes: defaultModes.filter(mode => able.keyPairModes.includes(mode)),
  allowedValidForValues: defaultPeriods.filter(period => able.validForValues.includes(period)),
  cryptoRestrictions: {
    allowedCryptoAlgorithms: [...able.cryptoAlgorithms],
    allowedRsaKeySizes: [...able.rsaKeySizes],
    allowedEcNamedCurves: [...able.ecNamedCurves],
    allowedEdDSANamedCurves: [...able.edDSANamedCurves],
    allowedMlDsaParameterSets: [...able.mlDsaParameterSets],
  },
})

/** The most rules of a policy: each costs time wherever end entities are judged (contract 5.1). */
export const maxRules = 100

const beyond = (wanted: readonly unknown[] | null | undefined, able: readonly unknown[]): boolean =>
  (wanted ?? []).some(value => !able.includes(value))

type Judge = (policy: PolicyRules, able: Capabilities) => boolean

/** Each contradiction: the member at fault, the sentence, and when it is there. */
const contradictions: readonly (readonly [string, string, Judge])[] = [
  ['allowedKeyPairModes', 'At least one is needed', policy => policy.allowedKeyPairModes.length === 0],
  ['allowedValidForValues', 'At least one is needed', policy => policy.allowedValidForValues.length === 0],
  ['dualControl', 'Needs requiresManualApproval', policy => policy.dualControl && !policy.requiresManualApproval],
  [
    'renewalWindowDays',
    'Needs enforceActiveCertUniqueness',
    policy => policy.renewalWindowDays != null && !policy.enforceActiveCertUniqueness,
  ],
  [
    'allowedKeyPairModes',
    'The provider does not support all of them',
    (policy, able) => beyond(policy.allowedKeyPairModes, able.keyPairModes),
  ],
  [
    'allowedValidForValues',
    'The provider or template does not support all of them',
    (policy, able) => beyond(policy.allowedValidForValues, able.validForValues),
  ],
  [
    'cryptoRestrictions.allowedCryptoAlgorithms',
    'The provider or template does not support all of them',
    ({ cryptoRestrictions }, able) => beyond(cryptoRestrictions.allowedCryptoAlgorithms, able.cryptoAlgorithms),
  ],
  [
    'scepConfiguration.signerMode',
    'CA needs a built-in CA with an RSA key',
    ({ scepConfiguration }, able) => scepConfiguration?.signerMode === 'CA' && able.caAlgorithm !== 'RSA',
  ],
]

const ruleErrors = (rules: readonly EndEntityRule[]): FieldError[] => {
  if (rules.length > maxRules) return [{ field: 'endEntityRules', message: `At most ${maxRules} rules` }]
  const seen = new Set<string>()
  return rules.flatMap(({ property, genericKey, pattern }, index) => {
    const key = `${property}/${property === 'GENERIC' ? genericKey : ''}`
    const checks: [string, string, boolean][] = [
      ['property', 'At most one rule a property', seen.has(key)],
      ['genericKey', 'GENERIC needs it, other properties have none', (property === 'GENERIC') !== Boolean(genericKey)],
      [
        'pattern',
        `At most ${longestPattern} characters, no back references, no look-around, no large repetitions in repetitions`,
        pattern ? !isPattern(pattern) : false,
      ],
    ]
    seen.add(key)
    return checks
      .filter(([, , wrong]) => wrong)
      .map(([field, message]) => ({ field: `endEntityRules[${index}].${field}`, message }))
  })
}

/** Refuses a policy that contradicts itself or its provider: INVALID_POLICY_CONFIGURATION with the members at fault. */
export const checkPolicy = (policy: PolicyRules, able: Capabilities): void => {
  const errors = [
    ...contradictions.filter(([, , judge]) => judge(policy, able)).map(([field, message]) => ({ field, message })),
    ...ruleErrors(policy.endEntityRules),
  ]
  const [first] = errors
  if (first)
    throw new Failure(
      'INVALID_POLICY_CONFIGURATION',
      `The policy is not usable: ${first.field}: ${first.message}.`,
      errors,
    )
}
