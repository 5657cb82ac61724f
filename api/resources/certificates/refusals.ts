// What operations on certificates answer that issue or revoke none.
import { apiErrors, type ApiError } from '../../../domain/failure.ts'

const ofItems = [
  'CERT_REQUEST_NOT_FOUND',
  'ACCESS_DENIED',
  'INVALID_STATE',
  'ENTITY_ARCHIVED',
  'ALREADY_ISSUED',
  'ALREADY_ORDERED',
] as const satisfies readonly ApiError[]

/** By status: 409 when all items have such a code, else 422 with the code of the first; `more` are codes of items too. */
export const batchRefusals = (more: readonly ApiError[] = []): Readonly<Record<409 | 422, readonly ApiError[]>> => {
  const all = [...new Set([...ofItems, ...more])]
  return { 409: all.filter(code => apiErrors[code].status === 409), 422: all }
}

/** The codes of a certificate that is not revoked. */
export const ofRevocation = [
  'INVALID_STATE',
  'ENTITY_ARCHIVED',
  'ALREADY_REVOKED',
  'INVALID_REVOCATION_REASON',
  'NOT_SUPPORTED_BY_PROVIDER',
  'REVOCATION_PENDING',
] as const satisfies readonly ApiError[]

/** The codes of a request that ends without a certificate. */
export const ofIssue = [
  'INVALID_STATE',
  'ISSUE_PENDING',
  'ISSUE_REJECTED',
  'CERTIFICATE_PROVIDER_ERROR',
] as const satisfies readonly ApiError[]
