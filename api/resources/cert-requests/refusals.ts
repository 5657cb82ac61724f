// What the rules of contract 5.4 answer, wherever a request is judged: when it is made, approved and issued.
import type { ApiError } from '../../../domain/failure.ts'

/** The codes of a request that a rule refuses. */
export const ruleBreaches = [
  'REALM_MISMATCH',
  'ENTITY_ARCHIVED',
  'KEY_PAIR_MODE_NOT_ALLOWED',
  'VALID_FOR_NOT_ALLOWED',
  'CRYPTO_RESTRICTION_VIOLATION',
  'WEAK_KEY',
  'END_ENTITY_RULE_VIOLATION',
  'WILDCARD_NOT_ALLOWED',
  'PKCS10_MISMATCH',
  'ACTIVE_CERTIFICATE_EXISTS',
  'INVALID_POLICY_CONFIGURATION',
  'TEMPLATE_NOT_FOUND',
] as const satisfies readonly ApiError[]
