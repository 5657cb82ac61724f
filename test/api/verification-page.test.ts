// The page behind the link of a verification mail (contract 8), as a browser without JavaScript uses it.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeTokens } from '../../storage/verification-tokens.ts'
import { factsOf, requestRow, setSetting } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  for (const [key, value] of Object.entries({ enabled: 'true', host: '127.0.0.1', port: '9', from: 'ca@example.org' }))
    await setSetting(service, `mail.${key}`, value)
  scene = await makeScene(service, {
    requiresEmailVerification: true,
    requiresManualApproval: true,
    certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}',
  })
})
afterAll(() => service.stop())

const email = "o'neil@example.org"
const waiting = async (commonName = 'Jane <b>Doe</b>') => {
  const id = await scene.newRequest({ endEntityId: await scene.newEndEntity({ commonName, email }) })
  const addressed = [{ certRequestId: id, email }]
  const [made] = await makeTokens(service.em(), addressed, { now: new Date(), lifetimeHours: 1 })
  return { id, token: made?.token ?? '' }
}
const open = (token: string, language = 'en') =>
  service.anonymous.get(`/verify-email?token=${encodeURIComponent(token)}`, {
    headers: { 'Accept-Language': language },
  })
const press = (token: string, language = 'en') =>
  service.anonymous.post('/verify-email', undefined, {
    raw: new URLSearchParams({ token }).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Accept-Language': language },
  })

test('opening it changes nothing, however often; its button proves the address', async () => {
  const { id, token } = await waiting()
  for (const _ of [1, 2]) expect((await open(token)).status).toBe(200)
  expect((await requestRow(service, id)).certRequestStatus).toBe('REQUIRES_EMAIL_VERIFICATION')
  const { body } = await open(token)
  const hidden = /name="token" value="([^"]+)"/.exec(body)?.[1] ?? ''
  const { status, body: thanks } = await press(hidden)
  expect([status, thanks.includes('is confirmed')]).toEqual([200, true])
  expect((await requestRow(service, id)).certRequestStatus).toBe('PENDING_APPROVAL')
  expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED', 'CERT_REQUEST_EMAIL_VERIFIED'])
})

test('it says whose address and which certificate, and no name becomes markup', async () => {
  const { body } = await open((await waiting()).token)
  expect(body).toContain('o&#39;neil@example.org')
  expect(body).toContain('Jane &#60;b&#62;Doe&#60;/b&#62;')
  expect(body).not.toContain('<b>')
})

describe('a link that serves no more', () => {
  test.each([
    ['en', 'This link is not valid'],
    ['de', 'Dieser Link ist nicht gültig'],
    ['fr', 'This link is not valid'],
    ['de-AT, en;q=0.5', 'Dieser Link ist nicht gültig'],
  ])('is told in %s', async (language, sentence) => {
    for (const reply of [await open('unknown', language), await press('unknown', language)]) {
      expect(reply.status).toBe(422)
      expect(reply.headers.get('Content-Type')).toContain('text/html')
      expect(reply.body).toContain(sentence)
    }
  })

  test('because it was used', async () => {
    const { token } = await waiting()
    await press(token)
    for (const reply of [await open(token), await press(token)]) {
      expect(reply.status).toBe(409)
      expect(reply.body).toContain('used already')
    }
  })

  test('without any token, or with too much of it', async () => {
    expect((await service.anonymous.get('/verify-email')).status).toBe(422)
    expect((await press('x'.repeat(5000))).status).toBe(400)
    expect((await open('"><script>alert(1)</script>')).body).not.toContain('<script>')
  })
})

test('nothing of it may be kept, framed, scripted or told to others', async () => {
  const { headers } = await open((await waiting()).token)
  const rules = headers.get('Content-Security-Policy') ?? ''
  expect(rules).toContain("default-src 'none'")
  expect(rules).toContain("frame-ancestors 'none'")
  expect(rules).not.toContain('script-src')
  expect(headers.get('Cache-Control')).toBe('no-store')
  expect(headers.get('Referrer-Policy')).toBe('no-referrer')
})

test('other methods are 405', async () => {
  const reply = await service.anonymous.put('/verify-email', {})
  expect([reply.status, reply.headers.get('Allow')]).toEqual([405, 'GET, POST, HEAD, OPTIONS'])
})
