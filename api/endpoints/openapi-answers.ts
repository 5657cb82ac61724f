// The answers of operations in the OpenAPI document: what succeeds with an answer of the example installation, and what
// fails with the codes that lead there.
import { readFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { apiErrors, type ApiError } from '../../domain/failure.ts'
import type { Operation, Operations } from '../kernel/operation.ts'
import { refusalsOf } from '../kernel/refusals.ts'
import { ApiExceptionResponse } from '../kernel/shared-dtos.ts'
import { jsonOf, prefix, schemaOf, type Json } from './openapi-schemas.ts'

const recorded = new URL('openapi-examples.json', import.meta.url)

/** Answers by operationId, as `test/api/examples.test.ts` recorded them. */
export const readExamples = (): Json => JSON.parse(readFileSync(recorded, 'utf8')) as Json

const nameOf = (status: number): string => STATUS_CODES[status] ?? String(status)

const waits = new Set([429, 503])
const retryAfter = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer', minimum: 1 } } }

const exampleOf = (code: ApiError): Json => ({ $ref: `#/components/examples/${code}` })

const pascal = (code: string): string =>
  code.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** One failed status of one operation. */
interface Failed {
  readonly operationId: string
  readonly status: number
  readonly codes: readonly ApiError[]
}

/** Few codes are a type of their own, which operations share, so that generated clients have few types. */
const typeOf = ({ operationId, status, codes }: Failed): string =>
  codes.length <= 4
    ? codes.map(pascal).join('Or')
    : `${pascal(operationId.slice(0, 1))}${operationId.slice(1)}${status}`

const failedOf = (operationId: string, operation: Operation): Failed[] =>
  [...refusalsOf(operation)].map(([status, codes]) => ({ operationId, status, codes }))

/** A status that the specification lists and that nothing leads to is said to be that (contract 1.7). */
const failed = (one: Failed): Json => {
  const { status, codes } = one
  // With its type all the same: a generated client then knows that every failure has a body.
  if (codes.length === 0)
    return { description: `${nameOf(status)}; nothing leads here`, content: jsonOf(schemaOf(ApiExceptionResponse)) }
  const examples = Object.fromEntries(codes.map(code => [code, exampleOf(code)]))
  return {
    description: `${nameOf(status)}: ${codes.join(', ')}`,
    ...(waits.has(status) && { headers: retryAfter }),
    content: jsonOf({ $ref: prefix + typeOf(one) }, { examples }),
  }
}

/** The types of failures: an ApiExceptionResponse with one of the codes that lead to a status. */
export const failureSchemas = (operations: Operations): Readonly<Record<string, Json>> => {
  const all = Object.entries(operations).flatMap(([operationId, operation]) => failedOf(operationId, operation))
  const narrowed = ({ codes }: Failed) => ({ type: 'object', properties: { apiError: { enum: codes } } })
  const named = all.filter(({ codes }) => codes.length > 0)
  return Object.fromEntries(named.map(one => [typeOf(one), { allOf: [schemaOf(ApiExceptionResponse), narrowed(one)] }]))
}

const headersOf = (headers: Operation['answerHeaders']): Json =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )

/** The answers of an operation by status. */
export const answersOf = (operationId: string, operation: Operation, examples: Json): Json => {
  const { status, answer, answerHeaders } = operation
  const example = examples[operationId]
  const content = answer && jsonOf(schemaOf(answer), example === undefined ? {} : { example })
  const failures = failedOf(operationId, operation).map(one => [one.status, failed(one)])
  const headers = Object.keys(answerHeaders).length > 0 && { headers: headersOf(answerHeaders) }
  const succeeded = { description: nameOf(status), ...headers, ...(content && { content }) }
  return { [status]: succeeded, ...Object.fromEntries(failures) }
}

/** An example of the failure of each code that some operation answers, by the code. */
export const failureExamples = (operations: Operations): Json => {
  const used = new Set(Object.values(operations).flatMap(operation => [...refusalsOf(operation).values()].flat()))
  const codes = (Object.keys(apiErrors) as ApiError[]).filter(code => used.has(code))
  const exampleFor = (apiError: ApiError) => {
    const { description } = apiErrors[apiError]
    return { summary: description, value: { apiError, errorMessage: `${description}.` } }
  }
  return Object.fromEntries(codes.map(code => [code, exampleFor(code)]))
}
