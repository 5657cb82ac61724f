// What surrounds the operations keeps secrets: no cache holds an answer, metrics have a listener of their own, and the codec
// endpoint survives what it is sent.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeMetrics, metricsServer } from '../../api/endpoints/metrics.ts'
import { signatureAlgorithms } from '../../pki/keys/algorithms.ts'
import { EncryptionCodec } from '../../worker/payload-codec.ts'
import { pbm, protectedPart } from '../support/cmp-messages.ts'
import { makeCmpScene } from '../support/cmp.ts'
import { issueNew } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'
import { startApi, type Api, type ApiCaller } from '../support/api.ts'

describe('no cache keeps an answer', () => {
  let service: Service
  let scene: Scene
  beforeAll(async () => {
    service = await startService()
    scene = await makeScene(service)
  })
  afterAll(() => service.stop())

  const headOf = async (reply: Promise<{ status: number; headers: Headers }>) => {
    const { status, headers } = await reply
    return [status, headers.get('cache-control')]
  }

  test('that carries a key, a password or a record', async () => {
    const { id } = await issueNew(scene)
    for (const what of ['', '/download', '/download-private-key', '/pkcs12', '/download-chain?casFirst=false'])
      expect(await headOf(scene.owner.get(`/api/v1/certificates/${id}${what}`))).toEqual([200, 'no-store'])
    const made = scene.owner.post('/api/v1/pkcs10', {
      subject: { commonName: 'a' },
      keyGenParamsDto: { cryptoAlgorithm: 'EC' },
    })
    expect(await headOf(made)).toEqual([200, 'no-store'])
    expect(await headOf(scene.owner.get('/api/v1/authenticated-principal/'))).toEqual([200, 'no-store'])
  })

  test('that protects a message of CMP, or judges one', async () => {
    const { calculate, verify, sign, configuration } = await makeCmpScene(service)
    const part = protectedPart({ protectionAlg: pbm() })
    const signed = protectedPart({ protectionAlg: signatureAlgorithms.SHA256_WITH_ECDSA.identifier })
    for (const reply of [calculate(part), verify(part, Buffer.alloc(32)), sign(signed), configuration()])
      expect(await headOf(reply)).toEqual([200, 'no-store'])
  })

  test.each([
    ['/health/live', 200],
    ['/health/ready', 200],
    ['/api/v1/nothing', 404],
    ['/api/v1/realms', 401],
    ['//', 404],
  ])('%s', async (path, status) => {
    expect(await headOf(service.anonymous.get(path))).toEqual([status, 'no-store'])
  })

  test.each(['/docs', '/docs/swagger-ui.css', '/api/openapi.json'])('but %s, which is the same for all', async path => {
    expect(await headOf(service.anonymous.get(path))).toEqual([200, 'no-cache'])
  })
})

describe('metrics', () => {
  test('are not there for callers of the API', async () => {
    const api = await startApi()
    for (const path of ['/metrics', '/metrics/', '//metrics', '/api/v1/../../metrics'])
      expect([path, (await api.anonymous.get(path)).status]).toEqual([path, 404])
    expect((await (await api.user({ GLOBAL: ['ADMIN'] })).get('/metrics')).status).toBe(404)
    await api.stop()
  })

  test('have a listener of their own, which knows nothing else', async () => {
    const metrics = makeMetrics()
    const server = metricsServer(metrics).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const answer = await fetch(`${url}/metrics`)
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('certwright_request_seconds')])
    for (const path of ['/', '//', '/api/v1/realms']) expect((await fetch(`${url}${path}`)).status).toBe(404)
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(404)
    server.close().closeAllConnections()
  })
})

describe('the codec endpoint', () => {
  const codec = new EncryptionCodec(new Map([['one', Buffer.alloc(32, 1)]]))
  const codecKey = 'a-key-of-at-least-32-characters-so-it-is'
  let api: Api
  let admin: ApiCaller
  beforeAll(async () => {
    api = await startApi({ deps: { codec, codecKey } })
    admin = await api.user({ GLOBAL: ['ADMIN'] })
  })
  afterAll(() => api.stop())

  const plain = {
    metadata: { encoding: Buffer.from('json/plain').toString('base64') },
    data: Buffer.from('"x"').toString('base64'),
  }
  const paths = ['/temporal/codec/decode', `/temporal/codec/${codecKey}/decode`]

  const bytes = (text: string): Buffer => Buffer.from(text, 'base64')

  test('in peace decodes what our keys have sealed, and what is empty', async () => {
    const { metadata, data } = plain
    const [sealed] = await codec.encode([{ metadata: { encoding: bytes(metadata.encoding) }, data: bytes(data) }])
    const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64')
    const given = {
      metadata: Object.fromEntries(
        Object.entries(sealed?.metadata ?? {}).map(([name, value]) => [name, base64(value)]),
      ),
      data: base64(sealed?.data ?? Buffer.alloc(0)),
    }
    const { status, body } = await admin.post('/temporal/codec/decode', { payloads: [given] })
    expect([status, body.payloads]).toEqual([200, [plain]])
    const empty = { payloads: [{ metadata: null, data: null }, {}] }
    expect((await admin.post('/temporal/codec/decode', empty)).status).toBe(200)
  })

  test.each<[string, unknown]>([
    ['a payload that is null', { payloads: [null] }],
    ['a payload that is a number', { payloads: [1] }],
    ['a payload that is a list', { payloads: [[]] }],
    ['metadata that are a text', { payloads: [{ metadata: 'x' }] }],
    ['a member of the metadata that is null', { payloads: [{ metadata: { encoding: null } }] }],
    ['a member of the metadata that is a number', { payloads: [{ metadata: { encoding: 1 } }] }],
    ['data that are a number', { payloads: [{ data: 7 }] }],
    ['data that are no Base64', { payloads: [{ data: 'a b c' }] }],
    ['payloads that are null', { payloads: null }],
    ['payloads that are an object', { payloads: {} }],
    ['no payloads', {}],
    ['a list', []],
    ['null', null],
    ['a text', '"x"'],
  ])('answers 400 to %s', async (_, body) => {
    for (const path of paths) expect([path, (await admin.post(path, body)).status]).toEqual([path, 400])
  })

  const encoding = Buffer.from('binary/encrypted').toString('base64')
  const ours = Buffer.from('one').toString('base64')

  test('answers 400 to a payload of a key that is not configured', async () => {
    const metadata = { encoding, 'encryption-key-id': Buffer.from('two').toString('base64') }
    const { status, body } = await admin.post('/temporal/codec/decode', { payloads: [{ metadata, data: 'AAAA' }] })
    expect([status, body.apiError]).toEqual([400, 'INVALID_REQUEST'])
  })

  test.each([
    ['cut off', { 'encryption-key-id': ours }, 'AAAA'],
    ['changed', { 'encryption-key-id': ours }, Buffer.alloc(64).toString('base64')],
  ])('tells of a payload that is %s only that our keys did not seal it', async (_, more, data) => {
    const { status, body } = await admin.post('/temporal/codec/decode', {
      payloads: [{ metadata: { encoding, ...more }, data }],
    })
    const reason = Buffer.from(String(body.payloads[0].metadata.refused), 'base64').toString()
    expect([status, reason]).toEqual([200, 'This payload is not sealed by our keys.'])
  })
})
