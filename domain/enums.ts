// Every enumeration of the contract (section 2), each value beside the description that the public operations answer.

/** The description of each value of one enumeration. */
export type Enumeration = Readonly<Record<string, string>>

/** The values of an enumeration as a non-empty tuple, as zod and the database want them. */
export const valuesOf = <E extends Enumeration>(enumeration: E) =>
  Object.keys(enumeration) as [keyof E & string, ...(keyof E & string)[]]

export const CertRequestStatus = {
  REQUIRES_EMAIL_VERIFICATION: "Waits until the end entity's e-mail address is verified",
  PENDING_APPROVAL: 'Waits for manual approval',
  APPROVED: 'May be issued',
  DECLINED: 'Refused; no certificate is ever made from it',
  ISSUED: 'The certificate exists',
} as const satisfies Enumeration
export type CertRequestStatus = keyof typeof CertRequestStatus

export const CertStatus = {
  ACTIVE: 'Neither expired nor revoked; not-yet-valid certificates count as active',
  EXPIRED: 'The end of validity has passed and it was not revoked before',
  REVOKED: 'Revoked, or on hold when the reason is CERTIFICATE_HOLD',
} as const satisfies Enumeration
export type CertStatus = keyof typeof CertStatus

export const CertRequestAction = { APPROVE: 'Approved', DECLINE: 'Declined' } as const satisfies Enumeration
export type CertRequestAction = keyof typeof CertRequestAction

export const SecurityIdentityType = {
  USER: 'Human principal',
  API_CLIENT: 'Machine client',
  SYSTEM: 'The service itself (its id is null)',
} as const satisfies Enumeration
export type SecurityIdentityType = keyof typeof SecurityIdentityType

export const OrderStatus = {
  RUNNING: 'In progress or waiting',
  COMPLETED: 'Ended with a certificate',
  FAILED: 'Ended without one',
  CANCELED: 'Its requests were declined or archived',
} as const satisfies Enumeration
export type OrderStatus = keyof typeof OrderStatus

export const KeyPairMode = {
  SERVER_GEN: 'The service generates the key pair',
  PKCS10: 'The key comes in a PKCS#10 request',
  PUBLIC_KEY: 'The key comes as a bare public key',
} as const satisfies Enumeration
export type KeyPairMode = keyof typeof KeyPairMode

export const ValidFor = {
  ONE_DAY: '1 day',
  ONE_WEEK: '1 week',
  ONE_MONTH: '1 month',
  THREE_MONTHS: '3 months',
  SIX_MONTHS: '6 months',
  ONE_YEAR: '1 year',
  TWO_YEARS: '2 years',
  THREE_YEARS: '3 years',
  FIVE_YEARS: '5 years',
  TEN_YEARS: '10 years',
} as const satisfies Enumeration
export type ValidFor = keyof typeof ValidFor

export const CryptoAlgorithm = {
  RSA: 'RSA',
  EC: 'ECDSA on a named curve',
  EDDSA: 'Edwards curve',
  ML_DSA: 'Lattice signatures of FIPS 204',
} as const satisfies Enumeration
export type CryptoAlgorithm = keyof typeof CryptoAlgorithm

/** RSA key sizes in bits; the public operation answers them as numbers. */
export const RsaKeySize = { 2048: '2048 bits', 3072: '3072 bits', 4096: '4096 bits' } as const
export type RsaKeySize = keyof typeof RsaKeySize
export const rsaKeySizes = [2048, 3072, 4096] as const satisfies readonly RsaKeySize[]

export const ECNamedCurve = {
  SECP256R1: 'P-256',
  SECP384R1: 'P-384',
  SECP521R1: 'P-521',
} as const satisfies Enumeration
export type ECNamedCurve = keyof typeof ECNamedCurve

export const EdDSANamedCurve = { ED25519: 'Ed25519', ED448: 'Ed448' } as const satisfies Enumeration
export type EdDSANamedCurve = keyof typeof EdDSANamedCurve

/** The parameter sets of FIPS 204; they take the place of a curve (contract 2, an extension). */
export const MlDsaParameterSet = {
  ML_DSA_44: 'ML-DSA-44',
  ML_DSA_65: 'ML-DSA-65',
  ML_DSA_87: 'ML-DSA-87',
} as const satisfies Enumeration
export type MlDsaParameterSet = keyof typeof MlDsaParameterSet

export const CmpSignatureAlgorithm = {
  SHA256_WITH_RSA: 'SHA-256 with RSA',
  SHA384_WITH_RSA: 'SHA-384 with RSA',
  SHA512_WITH_RSA: 'SHA-512 with RSA',
  SHA256_WITH_ECDSA: 'SHA-256 with ECDSA',
  SHA384_WITH_ECDSA: 'SHA-384 with ECDSA',
  SHA512_WITH_ECDSA: 'SHA-512 with ECDSA',
  ED25519: 'Pure EdDSA',
  ED448: 'Pure EdDSA',
} as const satisfies Enumeration
export type CmpSignatureAlgorithm = keyof typeof CmpSignatureAlgorithm

/** The kinds that this installation can talk to; the others of the contract join when their provider is there. */
export const CertificateProviderType = { LOCAL: 'Built-in CA' } as const satisfies Enumeration
export type CertificateProviderType = keyof typeof CertificateProviderType

export const RuleRequirement = {
  REQUIRED: 'Must be present',
  OPTIONAL: 'May be present',
  FORBIDDEN: 'Must be absent',
} as const satisfies Enumeration
export type RuleRequirement = keyof typeof RuleRequirement

export const EndEntityStrategy = {
  COMMON_NAME: 'Known by the common name',
  SUBJECT_DN: 'Known by the whole subject name',
  EMAIL: 'Known by the e-mail address',
  DOMAIN: 'Known by the first domain name',
  IP: 'Known by the first IP address',
  EXTERNAL_ID: 'Known by the external id',
  UUID: 'Known by its id alone',
} as const satisfies Enumeration
export type EndEntityStrategy = keyof typeof EndEntityStrategy

export const EndEntityProperty = {
  COMMON_NAME: 'Common name',
  ORGANIZATION: 'Organization',
  ORGANIZATIONAL_UNIT: 'Organizational unit',
  COUNTRY: 'Country',
  EMAIL: 'E-mail address',
  DOMAIN: 'Domain names',
  IP: 'IP addresses',
  EXTERNAL_ID: 'External id',
  GENERIC: 'Key/value pair',
} as const satisfies Enumeration
export type EndEntityProperty = keyof typeof EndEntityProperty

export const EntitiesEnum = {
  REALM: 'Realm',
  POLICY: 'Policy',
  END_ENTITY: 'End entity',
  CERT_REQUEST: 'Certificate request',
  CERTIFICATE: 'Certificate',
  CERTIFICATE_PROVIDER: 'Certificate provider',
  CA: 'CA record',
  MAILING_LIST: 'Mailing list',
} as const satisfies Enumeration
export type EntitiesEnum = keyof typeof EntitiesEnum

export const RevocationReason = {
  UNSPECIFIED: 'No reason given (the default)',
  KEY_COMPROMISE: 'The private key is known to others',
  CA_COMPROMISE: "The CA's key is known to others",
  AFFILIATION_CHANGED: "The subject's name or role changed",
  SUPERSEDED: 'Replaced by another certificate',
  CESSATION_OF_OPERATION: 'No longer needed',
  CERTIFICATE_HOLD: 'On hold; can be released',
  REMOVE_FROM_CRL: 'Releases a hold',
  PRIVILEGE_WITHDRAWN: 'The subject lost the privilege',
  AA_COMPROMISE: 'The attribute authority is compromised',
} as const satisfies Enumeration
export type RevocationReason = keyof typeof RevocationReason

export const OcspStatus = {
  GOOD: 'Not revoked',
  REVOKED: 'Revoked or on hold',
  UNKNOWN: 'The responder does not know it',
} as const satisfies Enumeration
export type OcspStatus = keyof typeof OcspStatus

export const CertificateSearchKey = {
  SUBJECT_DN: 'Subject name (substring)',
  SUBJECT_COMMON_NAME: "Subject's common name (substring)",
  ISSUER_DN: 'Issuer name (substring)',
  ISSUER_COMMON_NAME: "Issuer's common name (substring)",
  END_ENTITY_ALIAS: 'Alias of the end entity (substring)',
  EMAIL: 'E-mail alternative name (substring)',
  DOMAIN: 'DNS alternative name (substring)',
  IP: 'IP alternative name (substring)',
  SERIAL_NUMBER: 'Serial number (exact)',
  FINGERPRINT: 'SHA-256 fingerprint (exact)',
  CERT_STATUS: 'Status (exact)',
  PUBLIC_KEY_ALGORITHM: 'Algorithm of the public key (exact)',
  REVOCATION_REASON: 'Revocation reason (exact)',
  KEY_PAIR_MODE: 'Key pair mode (exact)',
  POLICY_ID: 'Policy (id)',
  END_ENTITY_ID: 'End entity (id)',
  ISSUER_CA_ID: 'Issuing CA (id)',
  VALID_NOT_BEFORE: 'Begin of validity (from/to)',
  VALID_NOT_AFTER: 'End of validity (from/to)',
} as const satisfies Enumeration
export type CertificateSearchKey = keyof typeof CertificateSearchKey

/** State of the last connection check of a certificate provider. */
export const ConnectionStatus = {
  OK: 'The last check succeeded',
  FAILED: 'The last check failed',
  UNKNOWN: 'Never checked',
} as const satisfies Enumeration
export type ConnectionStatus = keyof typeof ConnectionStatus
