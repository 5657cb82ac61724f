// What a generated client sees of parameters: types that are true, forms that the service reads, and what each means.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import { openApiOf } from '../../api/endpoints/openapi.ts'
import { exampleCertificate } from '../../api/kernel/examples.ts'
import { startApi, type Api, type ApiCaller } from '../support/api.ts'

interface Schema {
  readonly type?: string
  readonly format?: string
  readonly pattern?: string
  readonly items?: Schema
  readonly default?: unknown
}
interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly description?: string
  readonly schema: Schema
  readonly style?: string
  readonly explode?: boolean
  readonly example?: unknown
}
interface Documented {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
}

const { paths } = JSON.parse(JSON.stringify(openApiOf(operations, 'http://localhost:8080'))) as {
  paths: Record<string, Record<string, Documented>>
}
const parametersOf = new Map(
  Object.values(paths)
    .flatMap(methods => Object.values(methods))
    .map(({ operationId, parameters }) => [operationId, parameters]),
)
const every = [...parametersOf].flatMap(([operationId, parameters]) =>
  parameters.map(parameter => ({ operationId, ...parameter })),
)
const find = (operationId: string, name: string): Parameter => {
  const found = parametersOf.get(operationId)?.find(parameter => parameter.name === name)
  if (!found) throw new Error(`${operationId} has no parameter ${name}.`)
  return found
}

let api: Api
let admin: ApiCaller
beforeAll(async () => {
  api = await startApi()
  admin = await api.user({ GLOBAL: ['ADMIN'] })
})
afterAll(() => api.stop())

describe('every parameter', () => {
  test('says in a sentence what it means', () => {
    const silent = every.filter(({ description = '' }) => !/^[A-Z].+[^.\s]$/i.test(description))
    expect(silent).toEqual([])
  })
  test('is no text of a number, a truth value or a list', () => {
    const disguised = every.filter(({ schema }) => JSON.stringify(schema).match(/"(true|false)"|\\\\d/))
    expect(disguised).toEqual([])
    const names = (type: string) => new Set(every.filter(({ schema }) => schema.type === type).map(({ name }) => name))
    expect(names('boolean')).toEqual(
      new Set(['archive', 'omitArtifacts', 'casFirst', 'dryRun', 'archived', 'enablePasswordLogin']),
    )
    expect(names('integer')).toEqual(new Set(['page', 'size', 'version']))
    expect(names('array')).toEqual(new Set(['ids', 'sort']))
  })
  test('that is an id says so', () => {
    const ids = every.filter(
      ({ name }) => /(^id|Id)$/.test(name) && !['operationId', 'orderId', 'externalId'].includes(name),
    )
    expect(ids.length).toBeGreaterThan(30)
    expect(ids.filter(({ schema }) => schema.type !== 'string' || schema.format !== 'uuid')).toEqual([])
  })
  test('with an example has one of its own type', () => {
    const typeOf = (value: unknown) =>
      Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value
    const wrong = every.filter(({ example, schema }) => example !== undefined && typeOf(example) !== schema.type)
    expect(wrong).toEqual([])
  })
  test('that is a list says how it is sent', () => {
    const lists = every.filter(({ schema }) => schema.type === 'array')
    expect(lists.filter(({ style, explode }) => style !== 'form' || explode === undefined)).toEqual([])
  })
})

describe('a parameter that is sent as it is described', () => {
  test('sort: each property that the pattern has is taken, and no other', async () => {
    const { schema, explode } = find('getRealms', 'sort')
    expect(explode).toBe(true)
    const pattern = new RegExp(schema.items?.pattern ?? '')
    const tried = [
      'name',
      'name,asc',
      'id,DESC',
      'metadata.createdDate,desc',
      'createdBy',
      'metadata.name',
      'secret',
      'name,up',
    ]
    for (const sort of tried) {
      const { status } = await admin.get(`/api/v1/realms?sort=${sort}&sort=name`)
      expect([sort, status]).toEqual([sort, pattern.test(sort) ? 200 : 400])
    }
    expect(tried.filter(sort => pattern.test(sort))).toHaveLength(5)
  })
  test('page and size: their bounds are those of the service', async () => {
    const { schema } = find('getRealms', 'size')
    expect(schema).toEqual({ type: 'integer', format: 'int32', minimum: 1, maximum: 1000, default: 20 })
    for (const [size, status] of [
      [1, 200],
      [1000, 200],
      [0, 400],
      [1001, 400],
    ])
      expect([size, (await admin.get(`/api/v1/realms?size=${size}`)).status]).toEqual([size, status])
  })
  test('a truth value: true and false, nothing else, with the default it says', async () => {
    expect(find('getRealms', 'archived').schema).toEqual({ type: 'boolean', default: false })
    for (const [archived, status] of [
      ['true', 200],
      ['false', 200],
      ['1', 400],
      ['TRUE', 400],
      ['', 400],
    ])
      expect([archived, (await admin.get(`/api/v1/realms?archived=${archived}`)).status]).toEqual([archived, status])
  })
  test('ids: with commas as the document has it, and one by one', async () => {
    expect(find('downloadCertificatesAsZip', 'ids')).toMatchObject({
      explode: false,
      schema: { type: 'array', items: { type: 'string', format: 'uuid' }, minItems: 1, maxItems: 1000 },
    })
    const get = async (query: string) => (await admin.get(`/api/v1/certificates/batch-download?${query}`)).body.apiError
    const [one, other] = [randomUUID(), randomUUID()]
    for (const query of [`ids=${one},${other}`, `ids=${one}&ids=${other}`])
      expect(await get(query)).toBe('CERTIFICATE_NOT_FOUND')
    for (const query of [`ids=${one},7`, `ids=${one}&ids=7`]) expect(await get(query)).toBe('INVALID_IDENTIFIER')
  })
  test('fingerprint: in every writing that the pattern has', async () => {
    const { pattern = '' } = find('getCertificateByFingerprint', 'fingerprint').schema
    const { fingerprint } = exampleCertificate
    const spaced = fingerprint.match(/../g)?.join(':') ?? ''
    for (const given of [fingerprint, fingerprint.toUpperCase(), spaced]) {
      expect(new RegExp(pattern).test(given)).toBe(true)
      const { status } = await admin.get(`/api/v1/certificates/by-fingerprint?fingerprint=${given}`)
      expect([given, status]).toEqual([given, 404])
    }
    expect(new RegExp(pattern).test('no fingerprint')).toBe(false)
    expect((await admin.get('/api/v1/certificates/by-fingerprint?fingerprint=no')).status).toBe(400)
  })
})

describe('answers', () => {
  const text = JSON.stringify(paths)
  test('are shown as the example installation gave them, of every operation that answers something', () => {
    // There is no CA of this kind, and no other will do.
    const without = new Set(['getMscaTemplatesByCertificateProviderId'])
    const bare = Object.values(paths)
      .flatMap(methods => Object.values(methods))
      .filter(({ operationId }) => operations[operationId]?.answer && !without.has(operationId))
      .filter(item => {
        const { responses } = item as unknown as { responses: Record<string, { content?: Record<string, object> }> }
        const success = Object.keys(responses).find(status => status.startsWith('2')) ?? ''
        return !('example' in (responses[success]?.content?.['application/json'] ?? {}))
      })
    expect(bare.map(({ operationId }) => operationId)).toEqual([])
  })
  test('show no private key and no password', () => {
    expect(text).not.toMatch(/BEGIN PRIVATE KEY-----\\n[A-Za-z0-9+/=]{20}/)
    expect(text).toContain('"password":"…"')
  })
})
