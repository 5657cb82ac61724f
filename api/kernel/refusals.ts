// Which codes of contract 3 an operation answers, by status: derived from its declaration, and what it `refuses` itself.
import { z } from 'zod'
import { apiErrors, type ApiError } from '../../domain/failure.ts'
import { statusOf } from './errors.ts'
import type { Operation } from './operation.ts'

/** The codes of an operation's own rules: at their natural statuses or what those fall back to, else by status. */
export type Refusals = readonly ApiError[] | Readonly<Record<number, readonly ApiError[]>>

// `cost` is what a limited operation declares; without it the public ones are limited (contract 1.2).
type Declared = Operation & { readonly cost?: unknown }

const inputsOf = ({ params, query, body }: Operation): z.ZodType[] => [
  ...Object.values(params),
  ...Object.values(query),
  ...(body ? [body] : []),
]

const isId = (schema: z.ZodType): boolean =>
  JSON.stringify(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })).includes('"format":"uuid"')

const has = (body: z.ZodType | undefined, member: string): boolean =>
  body instanceof z.ZodObject && member in (body.shape as object)

const asksRight = ({ needs, alsoNeeds }: Operation): boolean =>
  !['NOTHING', 'TOKEN'].includes(needs as string) || alsoNeeds.length > 0

/** Each code that follows from a declaration, and when it does. */
const derived: readonly (readonly [ApiError, (operation: Declared) => boolean])[] = [
  ['INVALID_REQUEST', operation => operation.paging || inputsOf(operation).length > 0],
  ['INVALID_IDENTIFIER', operation => inputsOf(operation).some(isId)],
  ['INVALID_JSON', ({ body }) => body !== undefined],
  ['REQUEST_TOO_LARGE', ({ body, query }) => body !== undefined || Object.keys(query).length > 0],
  ['AUTHENTICATION_FAILED', ({ needs }) => needs !== 'NOTHING'],
  ['PRINCIPAL_DISABLED', ({ needs }) => needs !== 'NOTHING'],
  ['ACCESS_DENIED', asksRight],
  ['METHOD_NOT_ALLOWED', () => true],
  ['VERSION_CONFLICT', ({ body, repeatable, failures }) => has(body, 'version') || (repeatable && failures.has(409))],
  ['ENTITY_ARCHIVED', ({ living }) => living],
  ['UNSUPPORTED_MEDIA_TYPE', ({ body, failures }) => body !== undefined || failures.has(415)],
  ['RATE_LIMITED', ({ needs, cost }) => needs === 'NOTHING' || cost !== undefined],
  ['INTERNAL_ERROR', () => true],
  ['SERVICE_UNAVAILABLE', ({ needs }) => needs !== 'NOTHING'],
]

const ownOf = ({ refuses, failures }: Operation): (readonly [number, ApiError])[] => {
  if (Array.isArray(refuses)) return (refuses as readonly ApiError[]).map(code => [statusOf(code, failures), code])
  return Object.entries(refuses as Readonly<Record<number, readonly ApiError[]>>).flatMap(([status, codes]) =>
    codes.map(code => [Number(status), code] as const),
  )
}

type ByStatus = ReadonlyMap<number, readonly ApiError[]>

const derive = (operation: Declared): ByStatus => {
  const { failures, on } = operation
  const codes = [
    ...derived.filter(([, holds]) => holds(operation)).map(([code]) => code),
    ...Object.values(on).map(({ missing }) => missing),
  ]
  const pairs = [...codes.map(code => [statusOf(code, failures), code] as const), ...ownOf(operation)]
  const order = Object.keys(apiErrors)
  const sorted = (found: readonly ApiError[]) => [...new Set(found)].sort((a, b) => order.indexOf(a) - order.indexOf(b))
  const statuses = [...new Set([...failures, ...pairs.map(([status]) => status)])].sort((a, b) => a - b)
  return new Map(statuses.map(at => [at, sorted(pairs.filter(([status]) => status === at).map(([, code]) => code))]))
}

const derivedOf = new WeakMap<Operation, ByStatus>()

/** The codes of an operation by status, in the order of contract 3; a listed status that nothing leads to has none. */
export const refusalsOf = (operation: Declared): ByStatus => {
  const found = derivedOf.get(operation) ?? derive(operation)
  derivedOf.set(operation, found)
  return found
}
