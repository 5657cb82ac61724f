// The closed set of error codes (contract 3) and the one failure type of the house.

/** Every ApiError with its natural HTTP status and its public description. */
export const apiErrors = {
  INVALID_JSON: { status: 400, description: 'The body is not UTF-8 JSON of the expected kind' },
  INVALID_REQUEST: {
    status: 400,
    description: 'A parameter or member is missing, of the wrong type, out of range or an unknown constant',
  },
  INVALID_IDENTIFIER: {
    status: 400,
    description: 'An id is not a UUID, or no policy is named and none is the default',
  },
  REQUEST_TOO_LARGE: { status: 400, description: 'The body or a list is longer than allowed' },
  AUTHENTICATION_FAILED: { status: 401, description: 'The token is missing, malformed, expired or not of the issuer' },
  PRINCIPAL_DISABLED: { status: 401, description: 'The principal is disabled' },
  ACCESS_DENIED: { status: 403, description: 'The caller lacks the permission' },
  NOT_FOUND: { status: 404, description: 'The path is unknown' },
  REALM_NOT_FOUND: { status: 404, description: 'No such resource' },
  POLICY_NOT_FOUND: { status: 404, description: 'No such resource' },
  END_ENTITY_NOT_FOUND: { status: 404, description: 'No such resource' },
  CERT_REQUEST_NOT_FOUND: { status: 404, description: 'No such resource' },
  CERTIFICATE_NOT_FOUND: { status: 404, description: 'No such resource' },
  CA_NOT_FOUND: { status: 404, description: 'No such resource' },
  CERTIFICATE_PROVIDER_NOT_FOUND: { status: 404, description: 'No such resource' },
  USER_NOT_FOUND: { status: 404, description: 'No such resource' },
  API_CLIENT_NOT_FOUND: { status: 404, description: 'No such resource' },
  MAILING_LIST_NOT_FOUND: { status: 404, description: 'No such resource' },
  CONFIGURATION_NOT_FOUND: { status: 404, description: 'No such resource' },
  ORDER_NOT_FOUND: { status: 404, description: 'No such resource' },
  RA_CERTIFICATE_NOT_FOUND: { status: 404, description: 'The user has no RA certificate' },
  END_ENTITY_PASSWORD_NOT_FOUND: { status: 404, description: 'The end entity has no password for the policy' },
  METHOD_NOT_ALLOWED: { status: 405, description: 'The path exists with other methods (header `Allow`)' },
  VERSION_CONFLICT: { status: 409, description: 'The stated version is not the current one' },
  ALREADY_EXISTS: {
    status: 409,
    description: 'A name, address, key, external id, alias, password or certificate that must be unique is taken',
  },
  ENTITY_ARCHIVED: { status: 409, description: 'An archived resource takes no part in operations' },
  ENTITY_NOT_ARCHIVED: { status: 409, description: 'Only archived resources can be deleted' },
  ENTITY_IN_USE: { status: 409, description: 'Another resource still needs it' },
  ACTIVE_CERTIFICATES_EXIST: { status: 409, description: 'It is, or holds, an active certificate' },
  PARENT_ARCHIVED: { status: 409, description: 'A resource above it is archived' },
  SYSTEM_ENTITY_PROTECTED: { status: 409, description: 'The service itself needs it' },
  LAST_ADMIN: { status: 409, description: 'The last principal with ADMIN must stay' },
  INVALID_STATE: { status: 409, description: 'The state does not allow the operation' },
  ALREADY_ISSUED: { status: 409, description: 'The certificate of the request exists' },
  ALREADY_ORDERED: { status: 409, description: 'An order of the request is running' },
  ALREADY_APPROVED_BY_PRINCIPAL: { status: 409, description: 'The same principal has approved before' },
  SELF_APPROVAL_NOT_ALLOWED: { status: 409, description: 'The creator of a request may not approve it' },
  AMBIGUOUS_RESULT: { status: 409, description: 'More than one resource matches' },
  TOKEN_ALREADY_USED: { status: 409, description: 'The verification token was used before' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, description: 'The body is not application/json' },
  VALIDATION_FAILED: { status: 422, description: 'A value breaks a rule of its field' },
  REALM_MISMATCH: { status: 422, description: 'The named resources are not of one realm' },
  INVALID_CERTIFICATE: { status: 422, description: 'The input holds no readable certificate' },
  INVALID_PKCS10: { status: 422, description: 'The PKCS#10 request is unreadable or its signature is wrong' },
  INVALID_PUBLIC_KEY: { status: 422, description: 'The public key is unreadable or malformed' },
  INVALID_CSV: { status: 422, description: 'The table has no usable header' },
  INVALID_PROVIDER_CONFIGURATION: { status: 422, description: "The provider's configuration is not usable" },
  INVALID_POLICY_CONFIGURATION: {
    status: 422,
    description: 'The policy asks for what its provider cannot do, or contradicts itself',
  },
  TEMPLATE_NOT_FOUND: { status: 422, description: 'The provider has no such template or template signer' },
  END_ENTITY_RULE_VIOLATION: {
    status: 422,
    description: 'The end entity breaks the rules or lacks a field of the strategy',
  },
  PKCS10_MISMATCH: { status: 422, description: 'Names in the PKCS#10 request are not those of the end entity' },
  KEY_PAIR_MODE_NOT_ALLOWED: { status: 422, description: 'The policy does not allow this key pair mode' },
  VALID_FOR_NOT_ALLOWED: { status: 422, description: "The policy or the CA's own validity does not allow this period" },
  CRYPTO_RESTRICTION_VIOLATION: { status: 422, description: 'Algorithm, size or curve is not allowed' },
  WEAK_KEY: { status: 422, description: 'The key is known to be weak or compromised' },
  WILDCARD_NOT_ALLOWED: { status: 422, description: 'The policy does not allow wildcard names' },
  ACTIVE_CERTIFICATE_EXISTS: {
    status: 422,
    description: 'The policy allows one active certificate and it is not yet time to renew',
  },
  IMPORT_NOT_ALLOWED: { status: 422, description: 'The policy does not allow imports' },
  SELF_SIGNED_NOT_ALLOWED: { status: 422, description: 'The policy does not allow self-signed certificates' },
  NOT_A_CA: { status: 422, description: 'The certificate is not a CA certificate' },
  ISSUE_PENDING: { status: 422, description: 'Not issued within the wait limit; issuing goes on, repeat the call' },
  ISSUE_REJECTED: { status: 422, description: 'The provider refused to issue' },
  ORDER_EXPIRED: { status: 422, description: 'The order waited longer than allowed' },
  ALREADY_REVOKED: { status: 422, description: 'The certificate is revoked for good, or already on hold' },
  INVALID_REVOCATION_REASON: { status: 422, description: "The reason does not fit the certificate's state" },
  REVOCATION_PENDING: { status: 422, description: 'Not confirmed within the wait limit; the revocation goes on' },
  NOT_SUPPORTED_BY_PROVIDER: { status: 422, description: 'The kind of provider cannot do this' },
  PRIVATE_KEY_NOT_AVAILABLE: { status: 422, description: 'The service does not hold the private key' },
  CHAIN_INCOMPLETE: { status: 422, description: 'An issuer in the chain is not known' },
  NO_CRL_AVAILABLE: { status: 422, description: 'There is no CRL for the certificate' },
  NO_OCSP_RESPONDER: { status: 422, description: 'There is no OCSP responder for the certificate' },
  EMAIL_MISSING: { status: 422, description: 'The end entity has no e-mail address' },
  EMAIL_MISMATCH: { status: 422, description: 'The address is not that of the end entity' },
  MAIL_NOT_CONFIGURED: { status: 422, description: 'Mail is switched off or incomplete' },
  INVALID_TOKEN: { status: 422, description: 'The verification token is unknown, replaced or expired' },
  UNKNOWN_SETTINGS_KEY: { status: 422, description: 'There is no such setting' },
  INVALID_SETTING: { status: 422, description: 'The value does not fit the setting' },
  CMP_NOT_ENABLED: { status: 422, description: 'The policy does not take part in the protocol' },
  SCEP_NOT_ENABLED: { status: 422, description: 'The policy does not take part in the protocol' },
  SIGNER_NOT_AVAILABLE: { status: 422, description: 'The policy has no usable signer' },
  SIGNING_REFUSED: { status: 422, description: 'The data is not of a form that may be signed here' },
  DECRYPTION_FAILED: { status: 422, description: 'The data cannot be decrypted' },
  RATE_LIMITED: {
    status: 429,
    description: 'The caller asks too often; `Retry-After` says when to come back',
  },
  INTERNAL_ERROR: { status: 500, description: 'Unexpected failure; the message holds a reference' },
  IDENTITY_PROVIDER_ERROR: { status: 502, description: 'The identity provider failed or refused' },
  SERVICE_UNAVAILABLE: {
    status: 503,
    description: 'A part that the answer needs cannot be reached now; `Retry-After`',
  },
  CERTIFICATE_PROVIDER_ERROR: { status: 502, description: 'The certificate provider failed or cannot be reached' },
  MAIL_SERVER_ERROR: { status: 502, description: 'The mail server failed or cannot be reached' },
} as const satisfies Record<string, { status: number; description: string }>

export type ApiError = keyof typeof apiErrors

/** One member of the input that broke a rule. */
export interface FieldError {
  field: string
  message: string
}

/** An expected refusal: a code of the contract, a sentence for people without any secret, and the members at fault. */
export class Failure extends Error {
  readonly code: ApiError
  readonly fieldErrors: readonly FieldError[]

  constructor(code: ApiError, message: string = apiErrors[code].description, fieldErrors: readonly FieldError[] = []) {
    super(message)
    this.name = 'Failure'
    this.code = code
    this.fieldErrors = fieldErrors
  }
}
