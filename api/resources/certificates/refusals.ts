// What a batch of certificate requests answers that accepts none of them (contract 1.7).
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
