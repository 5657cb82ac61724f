// The rules of policies (contract 5.1): what they restrict, and whether they contradict themselves.
import type {
  CmpSignatureAlgorithm,
  CryptoAlgorithm,
  ECNamedCurve,
  EdDSANamedCurve,
  EndEntityProperty,
  RsaKeySize,
  RuleRequirement,
} from './enums.ts'

/** The key that the service is to generate; the parameter of the algorithm may be absent (= its first value). */
export interface KeyGenParams {
  cryptoAlgorithm: CryptoAlgorithm
  keySize?: RsaKeySize | null
  ecNamedCurve?: ECNamedCurve | null
  edDSANamedCurve?: EdDSANamedCurve | null
}

/** Which keys a policy allows; an absent or empty list allows all that the provider supports. */
export interface CryptoRestrictions {
  allowedCryptoAlgorithms: CryptoAlgorithm[]
  allowedRsaKeySizes?: RsaKeySize[] | null
  allowedEcNamedCurves?: ECNamedCurve[] | null
  allowedEdDSANamedCurves?: EdDSANamedCurve[] | null
}

/** A demand on one property of end entities (contract 5.5). */
export interface EndEntityRule {
  property: EndEntityProperty
  requirement: RuleRequirement
  pattern?: string | null
  genericKey?: string | null
  maxCount?: number | null
}

export interface CmpPolicyConfiguration {
  enabled: boolean
  signatureAlgorithm: CmpSignatureAlgorithm
  signerCertificateId?: string | null
  macProtectionAllowed: boolean
  signatureProtectionAllowed: boolean
  certConfirmationRequired: boolean
}

export interface ScepPolicyConfiguration {
  enabled: boolean
  signerMode: 'RA' | 'CA'
  signerCertificateId?: string | null
}
