// What an operation answers without saying so is a fault of its declaration: every test that meets one fails.
import { operations } from '../../api/app.ts'
import { refusalsOf } from '../../api/kernel/refusals.ts'
import type { ApiError } from '../../domain/failure.ts'

/** Answered before any operation is reached, or by all of them. */
const atTheDoor: readonly ApiError[] = [
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TOO_LARGE',
  'RATE_LIMITED',
  'SERVICE_UNAVAILABLE',
  'INTERNAL_ERROR',
]

const segmentsOf = (path: string): string[] => path.replace(/\?.*$/s, '').replace(/\/$/, '').split('/')

const fits = (pattern: readonly string[], given: readonly string[]): boolean =>
  pattern.length === given.length && pattern.every((part, at) => part.startsWith(':') || part === given[at])

const parametersIn = (pattern: readonly string[]): number => pattern.filter(part => part.startsWith(':')).length

/** Fixed segments before parameters, as the router has it. */
const known = Object.entries(operations)
  .map(([operationId, operation]) => ({ operationId, operation, pattern: segmentsOf(operation.path) }))
  .sort((one, other) => parametersIn(one.pattern) - parametersIn(other.pattern))

/** Throws when an operation answers a status with an ApiError that its declaration does not list there. */
export const mustBeDeclared = (method: string, path: string, { status, body }: { status: number; body: unknown }) => {
  const code = (body as { apiError?: ApiError } | undefined)?.apiError
  if (status < 400 || code === undefined || atTheDoor.includes(code)) return
  const given = segmentsOf(path)
  const called = known.find(({ operation, pattern }) => operation.method === method && fits(pattern, given))
  if (!called || refusalsOf(called.operation).get(status)?.includes(code)) return
  throw new Error(`${called.operationId} answers ${status} ${code}, which it does not declare (refuses: [...]).`)
}
