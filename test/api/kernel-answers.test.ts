// What the kernel answers: failures, fallbacks, statuses (contract 1.7).
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ApplicationFailure } from '@temporalio/common'
import { Writable } from 'node:stream'
import { makeMetrics } from '../../api/endpoints/metrics.ts'
import { statusOf } from '../../api/kernel/errors.ts'
import { createLog } from '../../api/log.ts'
import { failureIn } from '../../api/kernel/temporal.ts'
import { EncryptionCodec } from '../../worker/payload-codec.ts'
import { startApi, type Api } from '../support/api.ts'
import { everything } from '../support/kernel-operations.ts'

const lines: string[] = []
const log = createLog(
  'info',
  new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  }),
)
const ui = 'http://localhost:8233'
const codecKey = 'a-key-that-only-the-user-interface-knows'
const metrics = makeMetrics()

const codec = new EncryptionCodec(new Map([['k', randomBytes(32)]]))

let api: Api
beforeAll(async () => {
  api = await startApi({ operations: everything, deps: { log, codec, temporalUiUrl: ui, codecKey, metrics } })
})
afterAll(() => api.stop())

describe('failures', () => {
  test.each([
    ['REALM_NOT_FOUND', 404],
    ['WEAK_KEY', 422],
    ['ALREADY_EXISTS', 422],
    ['CERTIFICATE_PROVIDER_ERROR', 422],
    ['UNSUPPORTED_MEDIA_TYPE', 400],
  ])('%s is answered with %i where 409, 415 and 502 are not listed', async (code, status) => {
    const reply = await api.anonymous.get(`/api/v1/failures/${code}`)
    expect([reply.status, reply.body.apiError]).toEqual([status, code])
    expect(reply.body.errorMessage).toMatch(/\S/)
  })
  test('an operation without 404 falls back to 422', async () => {
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const reply = await admin.post('/api/v1/failures/4f2d3c1e-0000-4000-8000-000000000000/check')
    expect([reply.status, reply.body.apiError]).toEqual([422, 'REALM_NOT_FOUND'])
  })
  test('the fallback ends at 400 or 500', () => {
    expect(statusOf('ALREADY_EXISTS', new Set([400, 500]))).toBe(400)
    expect(statusOf('MAIL_SERVER_ERROR', new Set([400, 500]))).toBe(500)
    expect(statusOf('METHOD_NOT_ALLOWED', new Set([400]))).toBe(405)
  })
  test('the unexpected is a reference for the caller and whole in the log', async () => {
    const { status, body, headers } = await api.anonymous.get('/api/v1/failures/crash')
    expect([status, body.apiError]).toEqual([500, 'INTERNAL_ERROR'])
    expect(body.errorMessage).not.toContain('secret')
    const logged = lines.find(line => line.includes('a secret detail')) ?? ''
    expect(body.errorMessage).toContain(JSON.parse(logged).requestId)
    expect(headers.get('x-request-id')).toBe(JSON.parse(logged).requestId)
  })
  test('a failure of a workflow is found by its type, however deep', () => {
    const inner = ApplicationFailure.nonRetryable('The key is weak.', 'WEAK_KEY')
    const outer = new Error('Workflow failed', { cause: new Error('Activity failed', { cause: inner }) })
    expect(failureIn(outer)).toMatchObject({ code: 'WEAK_KEY', message: 'The key is weak.' })
    expect(failureIn(new Error('WEAK_KEY'))).toBeUndefined()
  })
})

describe('beside the operations', () => {
  test('a sane request id of the caller is kept, another is replaced', async () => {
    const id = async (given: string) =>
      (await api.anonymous.get('/health/live', { headers: { 'X-Request-Id': given } })).headers.get('x-request-id')
    expect(await id('trace-12345')).toBe('trace-12345')
    expect(await id('<script>')).not.toBe('<script>')
  })
  test('tokens, queries and bodies are not logged', async () => {
    const user = await api.user()
    await user.post('/api/v1/things?secret=query', { name: 'hidden-body' })
    const all = lines.join('')
    expect(all).toContain('/api/v1/things')
    expect(all).not.toMatch(/Bearer|hidden-body|secret=query|eyJ/)
  })
  test('values of a row that the database refused are not logged', async () => {
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    await admin.post('/api/v1/broken', { value: 'not-for-the-log' })
    expect(lines.join('')).not.toContain('not-for-the-log')
    expect(lines.join('')).toContain('"code":"22P02"')
  })
  test('answers carry security headers', async () => {
    const { headers } = await api.anonymous.get('/health/live')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toContain("default-src 'self'")
  })
  test('readiness tells what is missing', async () => {
    const down = { check: () => Promise.reject(new Error('down')), close: () => Promise.resolve() }
    const lame = await startApi({ databaseName: 'certwright_lame', deps: { temporal: down as never } })
    const { status, body } = await lame.anonymous.get('/health/ready')
    await lame.stop()
    expect([status, body]).toEqual([503, { status: 'DOWN', postgresql: 'UP', temporal: 'DOWN' }])
  })
  test('metrics count by operation and status', async () => {
    await api.anonymous.get('/api/v1/failures/WEAK_KEY')
    const body = await metrics.register.metrics()
    expect(body).toMatch(/certwright_request_seconds_count\{operation="failing",status="422"\} \d+/)
  })
})

describe('documentation', () => {
  test('the OpenAPI document has every operation with its components', async () => {
    const { body } = await api.anonymous.get('/api/openapi.json')
    const update = body.paths['/api/v1/things/{id}'].patch
    expect(body.openapi).toBe('3.1.0')
    expect(update.operationId).toBe('updateThing')
    expect(Object.keys(update.responses)).toEqual(
      expect.arrayContaining(['200', '400', '401', '403', '404', '409', '422']),
    )
    expect(update.responses['200'].content['application/json'].schema.$ref).toBe('#/components/schemas/TestRealm')
    expect(body.paths['/api/v1/failures/{code}'].get.security).toEqual([])
    const schemas = Object.keys(body.components.schemas)
    const references = [...JSON.stringify(body).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name)
    expect(schemas).toEqual(expect.arrayContaining([...new Set(references)]))
    expect(JSON.stringify(body)).not.toContain('$defs')
  })
  test('members of answers are required, those of requests only where they are', async () => {
    const { schemas } = (await api.anonymous.get('/api/openapi.json')).body.components
    expect(schemas.TestRealm.required).toContain('mailingListId')
    expect(schemas.CreateTestRealm.required).toEqual(['name'])
  })
  test('the page and what it loads come from here', async () => {
    const page = await api.anonymous.get('/docs')
    expect(page.status).toBe(200)
    const links = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => String(link))
    for (const link of links) expect((await api.anonymous.get(link)).status).toBe(200)
    expect(page.body).not.toMatch(/https?:/)
    for (const path of ['/docs', '/api/openapi.json', ...links]) {
      const { status } = await fetch(path.startsWith('/') ? api.url + path : path, { method: 'HEAD' })
      expect([path, status]).toEqual([path, 200])
    }
  })
})

describe('the codec endpoint', () => {
  const base64 = (value: string | Uint8Array | number[]) => Buffer.from(value as string).toString('base64')
  const plain = { encoding: Buffer.from('json/plain') }
  const payloads = [
    {
      metadata: { encoding: Buffer.from('json/plain').toString('base64') },
      data: Buffer.from('"x"').toString('base64'),
    },
  ]
  const bytes = (text: string | undefined) => Buffer.from(text ?? '', 'base64')
  const sealed = async () => {
    const encoded = await codec.encode(payloads.map(({ data }) => ({ metadata: plain, data: bytes(data) })))
    return encoded.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([key, value]) => [key, base64(value)])),
      data: base64(data ?? []),
    }))
  }
  test('decodes for ADMIN, and the UI may read the answer', async () => {
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const { status, body, headers } = await admin.post(
      '/temporal/codec/decode',
      { payloads: await sealed() },
      { headers: { Origin: ui } },
    )
    expect([status, body.payloads]).toEqual([200, payloads])
    expect(headers.get('access-control-allow-origin')).toBe(ui)
  })
  test('decodes without a token for who knows its key, and for nobody with another', async () => {
    const input = { payloads: await sealed() }
    const opened = await api.anonymous.post(`/temporal/codec/${codecKey}/decode`, input)
    expect([opened.status, opened.body.payloads]).toEqual([200, payloads])
    expect((await api.anonymous.post(`/temporal/codec/${codecKey}x/decode`, input)).status).toBe(401)
  })
  test('seals nothing for anybody: a sealed message decides in the name of its principal', async () => {
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    expect((await admin.post('/temporal/codec/encode', { payloads })).status).toBe(404)
    expect((await api.anonymous.post(`/temporal/codec/${codecKey}/encode`, { payloads })).status).toBe(404)
  })
  test('says of what is not sealed that it is refused', async () => {
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const { status, body } = await admin.post('/temporal/codec/decode', { payloads: [...payloads, {}] })
    expect(status).toBe(200)
    for (const { data } of body.payloads) expect(bytes(data).toString()).toContain('not sealed by our keys')
  })
  const foreignKey = { encoding: base64('binary/encrypted'), 'encryption-key-id': base64('other') }
  test.each<[string, unknown]>([
    ['null', { payloads: [null] }],
    ['a number', { payloads: [1] }],
    ['a list', { payloads: [[]] }],
    ['text as metadata', { payloads: [{ metadata: 'x' }] }],
    ['null in metadata', { payloads: [{ metadata: { encoding: null } }] }],
    ['a number as data', { payloads: [{ data: 7 }] }],
    ['a key that nobody has', { payloads: [{ metadata: foreignKey, data: 'AAAA' }] }],
    ['no list', { payloads: { length: 1 } }],
    ['nothing', {}],
    ['null as body', null],
  ])('a payload that is %s is 400', async (_, input) => {
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    expect((await admin.post('/temporal/codec/decode', input)).status).toBe(400)
  })
  test('refuses everybody else', async () => {
    const user = await api.user({ GLOBAL: ['REALMS_FULL_READ'] })
    expect((await api.anonymous.post('/temporal/codec/decode', { payloads })).status).toBe(401)
    expect((await user.post('/temporal/codec/decode', { payloads })).status).toBe(403)
    const { headers } = await user.post('/temporal/codec/decode', {}, { headers: { Origin: 'http://evil.example' } })
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })
})
