// E-mail addresses proven by the token of a mail (contract 4.1, 8).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { VerificationToken } from '../../storage/rows/verification-token.ts'
import { hashOfToken, makeTokens } from '../../storage/verification-tokens.ts'
import { factsOf, refusalOf, requestRow, setSetting, statusesOf, until } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let proving: Scene
let both: Scene

beforeAll(async () => {
  service = await startService()
  for (const [key, value] of Object.entries({ enabled: 'true', host: '127.0.0.1', port: '9', from: 'ca@example.org' }))
    await setSetting(service, `mail.${key}`, value)
  proving = await makeScene(service, { requiresEmailVerification: true })
  both = await makeScene(service, { requiresEmailVerification: true, requiresManualApproval: true })
})
afterAll(() => service.stop())

const verify = '/api/v1/public/verify-cert-request-with-email'
const bring = (token: unknown) => service.anonymous.post(verify, { token })
const order = (id: string) => `/api/v2/certificates/cert-requests/${id}`
const email = 'jane@example.org'

const newToken = async (certRequestId: string, { now = new Date(), lifetimeHours = 168 } = {}): Promise<string> => {
  const [made] = await makeTokens(service.em(), [{ certRequestId, email }], { now, lifetimeHours })
  return made?.token ?? ''
}

/** A request that waits for its address, and a token for it as a mail would bring it. */
const waiting = async (scene: Scene, { now = new Date() } = {}) => {
  const id = await scene.newRequest({ endEntityId: await scene.newEndEntity({ commonName: 'Jane', email }) })
  const token = await newToken(id, { now })
  return { id, token }
}

describe('verifyCertificateRequestByEmail', () => {
  test('a request without approval is approved, and may be issued', async () => {
    const { id, token } = await waiting(proving)
    expect((await requestRow(service, id)).certRequestStatus).toBe('REQUIRES_EMAIL_VERIFICATION')
    expect(refusalOf(await proving.owner.post(`/api/v1/certificates/cert-requests/${id}`))).toEqual([
      409,
      'INVALID_STATE',
    ])
    const { status, body } = await bring(token)
    expect([status, body]).toEqual([
      200,
      { id, certRequestStatus: 'APPROVED', email, certificateId: null, emailVerifiedDate: expect.any(String) },
    ])
    const { certRequestStatus, emailVerifiedDate, metadata } = (await proving.owner.get(`/api/v1/cert-requests/${id}`))
      .body
    expect([certRequestStatus, emailVerifiedDate]).toEqual(['APPROVED', body.emailVerifiedDate])
    expect(metadata).toMatchObject({ lastModifiedBy: null, lastModifiedByType: 'SYSTEM', version: 2 })
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED', 'CERT_REQUEST_EMAIL_VERIFIED'])
    expect((await proving.owner.post(`/api/v1/certificates/cert-requests/${id}`)).status).toBe(201)
  })

  test('with manual approval the approvers are next', async () => {
    const { id, token } = await waiting(both)
    expect(refusalOf(await both.owner.patch(`/api/v1/cert-requests/${id}/approve`))).toEqual([409, 'INVALID_STATE'])
    expect((await bring(token)).body).toMatchObject({ id, certRequestStatus: 'PENDING_APPROVAL' })
    expect((await both.owner.patch(`/api/v1/cert-requests/${id}/approve`)).body).toMatchObject({
      certRequestStatus: 'APPROVED',
    })
  })

  test('an order that waits for nothing else is carried out, and its certificate told', async () => {
    const { id, token } = await waiting(proving)
    const { orderId } = (await proving.owner.post(order(id))).body
    const { status, body } = await bring(token)
    expect(status).toBe(200)
    await until('the order is carried out', async () => (await requestRow(service, id)).certificateId)
    expect([null, (await requestRow(service, id)).certificateId]).toContain(body.certificateId)
    const told = await until('the order is closed', async () => {
      const answer = (await proving.owner.get(`/api/v2/orders/${orderId}`)).body
      return answer.status === 'RUNNING' ? undefined : answer.status
    })
    expect(told).toBe('COMPLETED')
  })

  test('an order that also waits for approval goes on waiting', async () => {
    const { id, token } = await waiting(both)
    const { orderId } = (await both.owner.post(order(id))).body
    expect((await bring(token)).body).toMatchObject({ certRequestStatus: 'PENDING_APPROVAL', certificateId: null })
    expect((await both.owner.get(`/api/v2/orders/${orderId}`)).body).toMatchObject({ status: 'RUNNING' })
    await both.owner.patch(`/api/v1/cert-requests/${id}/approve`)
    await until('the order is carried out', async () => (await requestRow(service, id)).certificateId)
  })

  test('a token serves once, however often it is brought at the same time', async () => {
    const { id, token } = await waiting(both)
    const replies = await Promise.all([token, token, token, token].map(bring))
    expect(statusesOf(replies)).toEqual([200, 409, 409, 409])
    expect(refusalOf(await bring(token))).toEqual([409, 'TOKEN_ALREADY_USED'])
    expect((await factsOf(service, id)).filter(fact => fact === 'CERT_REQUEST_EMAIL_VERIFIED')).toHaveLength(1)
  })

  test('an unknown, an expired and a replaced token are invalid', async () => {
    const late = await waiting(proving, { now: new Date(Date.now() - 169 * 3_600_000) })
    const { id, token } = await waiting(proving)
    await newToken(id)
    for (const text of ['unknown', late.token, token, hashOfToken(token), '%00', 'x'.repeat(255)])
      expect(refusalOf(await bring(text))).toEqual([422, 'INVALID_TOKEN'])
    expect((await requestRow(service, id)).certRequestStatus).toBe('REQUIRES_EMAIL_VERIFICATION')
  })

  test('a request that was declined, archived or deleted meanwhile stays so', async () => {
    const declined = await waiting(proving)
    expect((await proving.owner.patch(`/api/v1/cert-requests/${declined.id}/decline`)).status).toBe(200)
    expect(refusalOf(await bring(declined.token))).toEqual([409, 'INVALID_STATE'])
    const archived = await waiting(proving)
    await service.em().nativeUpdate(CertRequest, { id: archived.id }, { archived: true })
    expect(refusalOf(await bring(archived.token))).toEqual([409, 'ENTITY_ARCHIVED'])
    expect(refusalOf(await bring(await newToken(randomUUID())))).toEqual([404, 'CERT_REQUEST_NOT_FOUND'])
  })

  test.each([{}, { token: '' }, { token: null }, { token: 7 }, { token: 'x'.repeat(256) }, { token: 'a\u0000b' }])(
    'a body without a token is 400: %j',
    async body => {
      expect(refusalOf(await service.anonymous.post(verify, body))).toEqual([400, 'INVALID_REQUEST'])
    },
  )

  test('another media type is 415', async () => {
    const form = { raw: 'token=x', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
    expect(refusalOf(await service.anonymous.post(verify, undefined, form))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test('of the token only a hash is kept', async () => {
    const { id, token } = await waiting(proving)
    const rows = await service.em().find(VerificationToken, { certRequestId: id })
    expect(rows.map(({ hash }) => hash)).toEqual([hashOfToken(token)])
    expect(JSON.stringify(rows)).not.toContain(token)
  })
})

describe('resendEmailVerificationForCertRequest', () => {
  const resend = (id: string) => `/api/v1/cert-requests/${id}/resend-verification-email`

  test('another token replaces the one before', async () => {
    const { id, token } = await waiting(proving)
    expect((await proving.owner.post(resend(id), { email: 'JANE@Example.org' })).status).toBe(204)
    expect(refusalOf(await bring(token))).toEqual([422, 'INVALID_TOKEN'])
    expect(await service.em().count(VerificationToken, { certRequestId: id })).toBe(1)
  })

  test('needs a token, the right, and a request that is there', async () => {
    const { id } = await waiting(proving)
    expect((await service.anonymous.post(resend(id), { email })).status).toBe(401)
    expect(refusalOf(await both.owner.post(resend(id), { email }))).toEqual([403, 'ACCESS_DENIED'])
    expect(refusalOf(await proving.owner.post(resend(randomUUID()), { email }))).toEqual([
      404,
      'CERT_REQUEST_NOT_FOUND',
    ])
    const updater = await service.user({ CERT_REQUEST: { [id]: ['UPDATE'] } })
    expect((await updater.post(resend(id), { email })).status).toBe(204)
  })

  test('goes to the address of the end entity alone', async () => {
    const { id } = await waiting(proving)
    for (const other of ['john@example.org', 'nobody'])
      expect(refusalOf(await proving.owner.post(resend(id), { email: other }))).toEqual([422, 'EMAIL_MISMATCH'])
    const { endEntityId } = await requestRow(service, id)
    await service.em().nativeUpdate(EndEntity, { id: endEntityId }, { email: null })
    expect(refusalOf(await proving.owner.post(resend(id), { email }))).toEqual([422, 'EMAIL_MISMATCH'])
  })

  test('is refused once the address is proven, and where mail is off', async () => {
    const { id, token } = await waiting(both)
    await setSetting(service, 'mail.enabled', 'false')
    expect(refusalOf(await both.owner.post(resend(id), { email }))).toEqual([422, 'MAIL_NOT_CONFIGURED'])
    await setSetting(service, 'mail.enabled', 'true')
    await bring(token)
    expect(refusalOf(await both.owner.post(resend(id), { email }))).toEqual([409, 'INVALID_STATE'])
  })
})
