// The document says of each failure with which codes it comes; what tests meet elsewhere is compared with it (support/declared.ts).
import { describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import { operations } from '../../api/app.ts'
import { openApiOf } from '../../api/endpoints/openapi.ts'
import { statusOf } from '../../api/kernel/errors.ts'
import { from, operation } from '../../api/kernel/operation.ts'
import { refusalsOf } from '../../api/kernel/refusals.ts'
import { dto } from '../../api/kernel/dto.ts'
import { apiErrors, type ApiError } from '../../domain/failure.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { mustBeDeclared } from '../support/declared.ts'

// oxlint-disable-next-line typescript/no-explicit-any
type Any = any
const document: Any = JSON.parse(JSON.stringify(openApiOf(operations, 'http://localhost:8080')))
const documented: Record<string, Any> = Object.fromEntries(
  Object.values<Any>(document.paths)
    .flatMap(methods => Object.values<Any>(methods))
    .map(item => [item.operationId, item]),
)
const codesOf = (operationId: string, status: number): string[] => {
  const { schema } = documented[operationId].responses[status].content['application/json']
  const { allOf } = document.components.schemas[schema.$ref.split('/').pop()]
  return allOf?.[1].properties.apiError.enum ?? []
}

const all = Object.entries(operations).flatMap(([operationId, one]) =>
  [...refusalsOf(one)].map(([status, codes]) => [operationId, status, codes] as const),
)

describe('what an operation refuses', () => {
  const answer = dto('RefusalsAnswer', {})
  const make = (members: object) => operation('PATCH /things/:id', { ...base, ...members } as never)
  const base = { summary: 'Try', on: Realm, needs: 'UPDATE_REALM', returns: [200, answer], handle: () => ({}) }
  const codes = (members: object) => Object.fromEntries(refusalsOf(make(members)))

  test('follows from its declaration', () => {
    expect(codes({})).toEqual({
      400: ['INVALID_REQUEST', 'INVALID_IDENTIFIER'],
      401: ['AUTHENTICATION_FAILED', 'PRINCIPAL_DISABLED'],
      403: ['ACCESS_DENIED'],
      404: ['REALM_NOT_FOUND'],
      405: ['METHOD_NOT_ALLOWED'],
      500: ['INTERNAL_ERROR'],
      503: ['SERVICE_UNAVAILABLE'],
    })
  })
  test('of a body, an archived target and a stated version too', () => {
    const body = dto('RefusalsBody', { version: z.int() })
    expect(codes({ body, living: true, fails: [409, 415] })).toMatchObject({
      400: ['INVALID_JSON', 'INVALID_REQUEST', 'INVALID_IDENTIFIER', 'REQUEST_TOO_LARGE'],
      409: ['VERSION_CONFLICT', 'ENTITY_ARCHIVED'],
      415: ['UNSUPPORTED_MEDIA_TYPE'],
    })
  })
  test('comes at the status that its row has for it (contract 1.7)', () => {
    expect(codes({ refuses: ['ALREADY_EXISTS'] })[400]).toContain('ALREADY_EXISTS')
    expect(codes({ refuses: ['ALREADY_EXISTS'], fails: [422] })[422]).toEqual(['ALREADY_EXISTS'])
    expect(codes({ refuses: ['ALREADY_EXISTS'], fails: [409, 422] })).toMatchObject({
      409: ['VERSION_CONFLICT', 'ALREADY_EXISTS'],
      422: [],
    })
    expect(codes({ refuses: { 422: ['INVALID_STATE'] }, fails: [409, 422] })[422]).toEqual(['INVALID_STATE'])
  })
  test('of a public operation is no token, and too many calls', () => {
    const found = codes({ needs: 'NOTHING', on: { realm: from.path(Realm) } })
    expect(Object.keys(found)).toEqual(['400', '404', '405', '429', '500'])
    expect(found[429]).toEqual(['RATE_LIMITED'])
  })
})

describe('the document', () => {
  test('lists at each status what leads there, and only codes of the contract', () => {
    for (const [operationId, status, codes] of all) {
      expect([operationId, status, codesOf(operationId, status)]).toEqual([operationId, status, codes])
      for (const code of codes) expect(Object.keys(apiErrors)).toContain(code)
    }
  })
  test('has no status without a code but those that only the specification lists', () => {
    const idle = all.filter(([, , codes]) => codes.length === 0)
    const outside = idle.filter(([operationId, status]) => !operations[operationId]?.failures.has(status))
    expect(outside).toEqual([])
    for (const [operationId, status] of idle)
      expect(documented[operationId].responses[status].description).toMatch(/nothing leads here$/)
  })
  test('says how long to wait where waiting helps', () => {
    const waiting = Object.values(documented).flatMap(({ responses }) => [responses[429], responses[503]])
    const told = waiting.filter(response => response !== undefined)
    expect(told.length).toBeGreaterThan(Object.keys(operations).length - 1)
    for (const response of told) expect(Object.keys(response.headers)).toEqual(['Retry-After'])
  })
  test('has types that refuse another code than those', () => {
    const { schemas } = document.components
    const $defs = JSON.parse(JSON.stringify(schemas).replaceAll('#/components/schemas/', '#/$defs/'))
    const judge = z.fromJSONSchema({ $ref: '#/$defs/AuthenticationFailedOrPrincipalDisabled', $defs })
    const failing = (apiError: ApiError) => judge.safeParse({ apiError, errorMessage: 'No.' }).success
    expect([failing('PRINCIPAL_DISABLED'), failing('ACCESS_DENIED')]).toEqual([true, false])
  })
  test('shows an example of every code that it lists', () => {
    const { examples } = document.components
    for (const [operationId, status, codes] of all) {
      const shown = documented[operationId].responses[status].content['application/json'].examples ?? {}
      expect([operationId, status, Object.keys(shown)]).toEqual([operationId, status, codes])
    }
    for (const [code, { value }] of Object.entries<Any>(examples)) expect(value.apiError).toBe(code)
  })
})

describe('declarations', () => {
  test('name no code twice that a status has already', () => {
    for (const [operationId, { refuses, ...rest }] of Object.entries(operations)) {
      if (!Array.isArray(refuses)) continue
      const own = refuses as ApiError[]
      const derived = refusalsOf({ ...rest, refuses: [] })
      const twice = own.filter(code => derived.get(statusOf(code, rest.failures))?.includes(code))
      expect([operationId, twice, own.length]).toEqual([operationId, [], new Set(own).size])
    }
  })
  test('are held against every answer that a test gets', () => {
    const reply = (apiError: ApiError, status: number) => ({ status, body: { apiError } })
    const path = '/api/v1/realms/5d1f0a4e-8f4e-4b52-9a53-0f3f3f0a7c11?a=b'
    expect(() => mustBeDeclared('PATCH', path, reply('ALREADY_EXISTS', 409))).not.toThrow()
    expect(() => mustBeDeclared('PATCH', path, reply('ALREADY_EXISTS', 422))).toThrow('updateRealm answers 422')
    expect(() => mustBeDeclared('GET', path, reply('ALREADY_EXISTS', 409))).toThrow('getRealm answers 409')
    expect(() => mustBeDeclared('PATCH', '/elsewhere', reply('ALREADY_EXISTS', 409))).not.toThrow()
  })
})
