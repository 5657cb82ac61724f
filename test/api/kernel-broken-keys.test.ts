// Keys of the identity provider that are broken or out of reach: 503 with Retry-After, for the token is not at fault
// (contract 1.2).
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose'
import { authenticateWith } from '../../api/kernel/authentication.ts'
import { startApi, type Api } from '../support/api.ts'

type Answer = (response: ServerResponse) => void

const path = '/api/v1/authenticated-principal/'
let good: JWK
let token: string
let answer: Answer
let discovery: Answer
let server: Server
let api: Api | undefined

const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const json =
  (value: unknown): Answer =>
  response =>
    void response.end(JSON.stringify(value))
const status =
  (code: number): Answer =>
  response =>
    void response.writeHead(code).end('{}')
const described = (): Answer => json({ issuer: url(), jwks_uri: `${url()}/keys` })

beforeAll(async () => {
  server = createServer((request, response) => (request.url === '/keys' ? answer : discovery)(response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  good = { ...(await exportJWK(publicKey)), kid: 'test', alg: 'ES256', use: 'sig' }
  token = await new SignJWT({ sub: 'somebody' })
    .setProtectedHeader({ alg: 'ES256', kid: 'test' })
    .setIssuer(url())
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey)
})
afterEach(async () => {
  await api?.stop()
  api = undefined
})
afterAll(() => server.close().closeAllConnections())

const call = async (keys: Answer, found: Answer = described(), bearer = token) => {
  answer = keys
  discovery = found
  const rules = { issuer: url(), audiences: [], algorithms: ['ES256', 'RS256'] }
  api ??= await startApi({ deps: { authenticate: authenticateWith(rules) } })
  return api.as(bearer).get(path)
}

const goodKeys = (): Answer => json({ keys: [good] })

const weakRsa = {
  ...generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }),
  kid: 'rsa',
}

test('with good keys the token is accepted', async () => {
  expect((await call(json({ keys: [good] }))).status).toBe(200)
})

interface Broken {
  readonly what: string
  readonly keys?: () => Answer
  readonly found?: () => Answer
}

test.each<Broken>([
  { what: 'no JSON', keys: () => response => void response.end('<html>') },
  { what: 'no set', keys: () => json([]) },
  { what: 'a set without keys', keys: () => json({}) },
  { what: 'an empty set', keys: () => json({ keys: [] }) },
  { what: 'keys that are none', keys: () => json({ keys: ['x'] }) },
  { what: 'a key off its curve', keys: () => json({ keys: [{ ...good, x: good.y, y: good.x }] }) },
  {
    what: 'a key without a part',
    keys: () => json({ keys: [{ kty: 'EC', crv: 'P-256', kid: 'test', alg: 'ES256' }] }),
  },
  { what: 'status 500', keys: () => status(500) },
  { what: 'status 404', keys: () => status(404) },
  { what: 'an answer that breaks off', keys: () => response => void response.destroy() },
  { what: 'discovery that is no JSON', found: () => response => void response.end('<html>') },
  {
    what: 'discovery of another issuer',
    found: () => json({ issuer: 'http://127.0.0.1:1', jwks_uri: `${url()}/keys` }),
  },
  { what: 'discovery without keys', found: () => json({ issuer: url() }) },
  { what: 'discovery with an address that is none', found: () => json({ issuer: url(), jwks_uri: 'keys' }) },
  { what: 'discovery with status 500', found: () => status(500) },
])('$what is 503 with Retry-After', async ({ keys, found }) => {
  const { status: code, body, headers } = await call((keys ?? goodKeys)(), found?.())
  expect([code, body.apiError]).toEqual([503, 'SERVICE_UNAVAILABLE'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(headers.get('www-authenticate')).toBe(null)
  expect(JSON.stringify(body)).not.toContain(url())
})

test('a key that is too weak to be used is 503 as well', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const signed = await new SignJWT({ sub: 'a' })
    .setProtectedHeader({ alg: 'RS256', kid: 'rsa' })
    .setIssuer(url())
    .setExpirationTime('5m')
    .sign(privateKey)
  expect((await call(json({ keys: [weakRsa] }), described(), signed)).status).toBe(503)
})

test('once the identity provider is back, calls succeed again', async () => {
  expect((await call(json({ keys: [good] }), status(500))).status).toBe(503)
  expect((await call(json({ keys: [good] }))).status).toBe(200)
})

test('a token of an unknown key is the fault of the token: 401', async () => {
  const { privateKey } = await generateKeyPair('ES256')
  const foreign = await new SignJWT({ sub: 'a' })
    .setProtectedHeader({ alg: 'ES256', kid: 'other' })
    .setIssuer(url())
    .setExpirationTime('5m')
    .sign(privateKey)
  const { status: code, body } = await call(json({ keys: [good] }), described(), foreign)
  expect([code, body.apiError]).toEqual([401, 'AUTHENTICATION_FAILED'])
})
