// Approving and declining certificate requests (contract 4.1).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { factsOf, issueNew, refusalOf, requestRow, statusesOf, until } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let single: Scene
let dual: Scene

beforeAll(async () => {
  service = await startService()
  single = await makeScene(service, { requiresManualApproval: true })
  dual = await makeScene(service, { requiresManualApproval: true, dualControl: true })
})
afterAll(() => service.stop())

const path = '/api/v1/cert-requests'
const approve = (id: string) => `${path}/${id}/approve`
const decline = (id: string) => `${path}/${id}/decline`
const order = (id: string) => `/api/v2/certificates/cert-requests/${id}`
const approverOf = ({ policyId }: Scene) => service.user({ POLICY: { [policyId]: ['CERTREQS_APPROVE'] } })
const verdict = (userId: string, action: string) => ({
  userId,
  userType: 'USER',
  action,
  responseDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
})
const withStatus = async (id: string, certRequestStatus: CertRequest['certRequestStatus']) => {
  await service.em().nativeUpdate(CertRequest, { id }, { certRequestStatus })
  return id
}
const archive = async (id: string) => {
  await service.em().nativeUpdate(CertRequest, { id }, { archived: true })
  return id
}

describe.each([
  ['approve', approve],
  ['decline', decline],
] as const)('%s', (...[, url]) => {
  test('asks for a token', async () => {
    expect((await service.anonymous.patch(url(randomUUID()))).status).toBe(401)
  })

  test('an unknown request is 404', async () => {
    expect(refusalOf(await single.owner.patch(url(randomUUID())))).toEqual([404, 'CERT_REQUEST_NOT_FOUND'])
    expect(refusalOf(await single.owner.patch(url('none')))).toEqual([400, 'INVALID_IDENTIFIER'])
  })

  test.each<[string, (id: string) => object, number]>([
    ['APPROVE on the request', id => ({ CERT_REQUEST: { [id]: ['APPROVE'] } }), 200],
    ['CERTREQS_APPROVE on the policy', () => ({ POLICY: { [single.policyId]: ['CERTREQS_APPROVE'] } }), 200],
    ['ADMIN', () => ({ GLOBAL: ['ADMIN'] }), 200],
    ['READ, UPDATE, DELETE on the request', id => ({ CERT_REQUEST: { [id]: ['READ', 'UPDATE', 'DELETE'] } }), 403],
    ['CERTREQS_READ on the policy', () => ({ POLICY: { [single.policyId]: ['CERTREQS_READ'] } }), 403],
    ['FULL_READ on the realm', () => ({ REALM: { [single.realmId]: ['FULL_READ', 'UPDATE'] } }), 403],
  ])('with %s: %#', async (...[, grants, status]) => {
    const id = await single.newRequest()
    const caller = await service.user(grants(id))
    expect((await caller.patch(url(id))).status).toBe(status)
  })

  test('is refused to the approvers of another realm', async () => {
    expect(refusalOf(await dual.owner.patch(url(await single.newRequest())))).toEqual([403, 'ACCESS_DENIED'])
  })

  test.each(['APPROVED', 'DECLINED', 'ISSUED'] as const)('a request in state %s is refused', async status => {
    const id = await withStatus(await single.newRequest(), status)
    expect(refusalOf(await single.owner.patch(url(id)))).toEqual([409, 'INVALID_STATE'])
    expect((await requestRow(service, id)).certRequestStatus).toBe(status)
  })

  test('an archived request is refused', async () => {
    const id = await archive(await single.newRequest())
    expect(refusalOf(await single.owner.patch(url(id)))).toEqual([409, 'ENTITY_ARCHIVED'])
  })
})

describe('single control', () => {
  test('one approval approves and is recorded', async () => {
    const id = await single.newRequest()
    const approver = await approverOf(single)
    const { status, body } = await approver.patch(approve(id))
    expect(status).toBe(200)
    expect(body).toEqual({
      id,
      certificateId: null,
      certRequestStatus: 'APPROVED',
      userResponses: [verdict(approver.id, 'APPROVE')],
      metadata: expect.objectContaining({ createdBy: single.owner.id, lastModifiedBy: approver.id, version: 2 }),
    })
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED', 'CERT_REQUEST_APPROVED'])
    expect((await single.owner.post(`/api/v1/certificates/cert-requests/${id}`)).status).toBe(201)
  })

  test('the creator may approve', async () => {
    const id = await single.newRequest()
    expect((await single.owner.patch(approve(id))).body.certRequestStatus).toBe('APPROVED')
  })

  test('the creator may not where the policy says so', async () => {
    const scene = await makeScene(service, { requiresManualApproval: true, requesterMayApprove: false })
    const id = await scene.newRequest()
    expect(refusalOf(await scene.owner.patch(approve(id)))).toEqual([409, 'SELF_APPROVAL_NOT_ALLOWED'])
    await scene.owner.patch(`/api/v1/policies/${scene.policyId}`, { requesterMayApprove: true })
    expect(refusalOf(await scene.owner.patch(approve(id)))).toEqual([409, 'SELF_APPROVAL_NOT_ALLOWED'])
    expect((await (await approverOf(scene)).patch(approve(id))).status).toBe(200)
  })

  test('an API client approves as itself', async () => {
    const client = await service.apiClient({ POLICY: { [single.policyId]: ['CERTREQS_APPROVE'] } })
    const { body } = await client.patch(approve(await single.newRequest()))
    expect(body.userResponses).toEqual([{ ...verdict(client.id, 'APPROVE'), userType: 'API_CLIENT' }])
  })

  test('a request that waits for its e-mail address cannot be approved, but declined', async () => {
    const id = await withStatus(await single.newRequest(), 'REQUIRES_EMAIL_VERIFICATION')
    expect(refusalOf(await single.owner.patch(approve(id)))).toEqual([409, 'INVALID_STATE'])
    expect((await single.owner.patch(decline(id))).body.certRequestStatus).toBe('DECLINED')
  })

  test('of an approval and a refusal at the same time one wins', async () => {
    const id = await single.newRequest()
    const [one, other] = [await approverOf(single), await approverOf(single)]
    const replies = await Promise.all([one.patch(approve(id)), other.patch(decline(id))])
    expect(statusesOf(replies)).toEqual([200, 409])
    const won = replies.find(({ status }) => status === 200)?.body
    expect(await requestRow(service, id)).toMatchObject({ certRequestStatus: won.certRequestStatus })
    expect(await factsOf(service, id)).toHaveLength(2)
  })
})

describe('dual control', () => {
  test('the second of two approvers approves', async () => {
    const id = await dual.newRequest()
    const [first, second] = [await approverOf(dual), await approverOf(dual)]
    const once = await first.patch(approve(id))
    expect(once).toMatchObject({
      status: 200,
      body: { certRequestStatus: 'PENDING_APPROVAL', userResponses: [verdict(first.id, 'APPROVE')] },
    })
    const twice = await second.patch(approve(id))
    expect(twice).toMatchObject({
      status: 200,
      body: {
        certRequestStatus: 'APPROVED',
        userResponses: [verdict(first.id, 'APPROVE'), verdict(second.id, 'APPROVE')],
      },
    })
    expect(await factsOf(service, id)).toEqual([
      'CERT_REQUEST_CREATED',
      'CERT_REQUEST_APPROVED',
      'CERT_REQUEST_APPROVED',
    ])
  })

  test('the same principal approves once', async () => {
    const id = await dual.newRequest()
    const approver = await approverOf(dual)
    expect((await approver.patch(approve(id))).status).toBe(200)
    expect(refusalOf(await approver.patch(approve(id)))).toEqual([409, 'ALREADY_APPROVED_BY_PRINCIPAL'])
    expect((await requestRow(service, id)).userResponses).toHaveLength(1)
  })

  test('the creator never approves, not even as the second', async () => {
    const id = await dual.newRequest()
    expect(refusalOf(await dual.owner.patch(approve(id)))).toEqual([409, 'SELF_APPROVAL_NOT_ALLOWED'])
    await (await approverOf(dual)).patch(approve(id))
    expect(refusalOf(await dual.owner.patch(approve(id)))).toEqual([409, 'SELF_APPROVAL_NOT_ALLOWED'])
  })

  test('one refusal suffices, also of the one who approved first', async () => {
    const id = await dual.newRequest()
    const approver = await approverOf(dual)
    await approver.patch(approve(id))
    const { status, body } = await approver.patch(decline(id))
    expect(status).toBe(200)
    expect(body).toMatchObject({
      certRequestStatus: 'DECLINED',
      userResponses: [verdict(approver.id, 'APPROVE'), verdict(approver.id, 'DECLINE')],
    })
  })
})

describe('a refusal', () => {
  test('is recorded and final', async () => {
    const id = await single.newRequest()
    const approver = await approverOf(single)
    const { status, body } = await approver.patch(decline(id))
    expect(status).toBe(200)
    expect(body).toEqual({
      id,
      certificateId: null,
      certRequestStatus: 'DECLINED',
      userResponses: [verdict(approver.id, 'DECLINE')],
      metadata: expect.objectContaining({ lastModifiedBy: approver.id }),
    })
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED', 'CERT_REQUEST_DECLINED'])
    expect(refusalOf(await approver.patch(approve(id)))).toEqual([409, 'INVALID_STATE'])
  })

  test('is open to the creator without any other right', async () => {
    const { policyId, endEntityId, realmId } = dual
    const creator = await service.user({
      POLICY: { [policyId]: ['CERTS_CREATE'] },
      REALM: { [realmId]: ['FULL_READ'] },
    })
    const request = { policyId, endEntityId, validFor: 'ONE_YEAR', keyPairMode: 'SERVER_GEN' }
    const { body } = await creator.post(path, { ...request, keyGenParamsDto: { cryptoAlgorithm: 'EC' } })
    expect((await creator.patch(approve(body.id))).status).toBe(403)
    expect((await creator.patch(decline(body.id))).body.certRequestStatus).toBe('DECLINED')
  })

  test('cancels the waiting order', async () => {
    const id = await single.newRequest()
    const { orderId } = (await single.owner.post(order(id))).body
    expect((await single.owner.patch(decline(id))).body).toMatchObject({
      certRequestStatus: 'DECLINED',
      certificateId: null,
    })
    expect(await factsOf(service, id)).toEqual([
      'CERT_REQUEST_CREATED',
      'CERTIFICATE_ORDERED',
      'CERT_REQUEST_DECLINED',
      'ORDER_CANCELED',
    ])
    const closed = await until('the order is closed', async () => {
      const { body } = await single.owner.get(`/api/v2/orders/${orderId}`)
      return body.closedDate && body
    })
    expect(closed).toMatchObject({ status: 'CANCELED', certRequestStatus: 'DECLINED', failed: 1, failure: null })
    expect((await single.owner.get(`${path}/${id}`)).body.orderId).toBeNull()
  })
})

describe('an approval', () => {
  test('issues nothing by itself', async () => {
    const id = await single.newRequest()
    expect((await single.owner.patch(approve(id))).body.certificateId).toBeNull()
    expect(await requestRow(service, id)).toMatchObject({ runId: null, certificateId: null })
  })

  test('completes a waiting order and brings the certificate', async () => {
    const id = await single.newRequest()
    const { orderId } = (await single.owner.post(order(id))).body
    const { status, body } = await (await approverOf(single)).patch(approve(id))
    expect(status).toBe(200)
    // The answer has the certificate when it is there within 5 s, which a slow machine may miss.
    const row = await until('the certificate is there', async () => {
      const { certificateId, certRequestStatus } = await requestRow(service, id)
      return certificateId ? { certificateId, certRequestStatus } : null
    })
    expect([row.certificateId, null]).toContain(body.certificateId)
    expect(['ISSUED', 'APPROVED']).toContain(body.certRequestStatus)
    expect((await single.owner.get(`/api/v1/certificates/${row.certificateId}`)).status).toBe(200)
    const { body: told } = await single.owner.get(`/api/v2/orders/${orderId}`)
    expect(told).toMatchObject({ certificateId: row.certificateId, certRequestStatus: 'ISSUED', issued: 1, waiting: 0 })
  })

  test('the first of two leaves the order waiting', async () => {
    const id = await dual.newRequest()
    const { orderId } = (await dual.owner.post(order(id))).body
    expect((await (await approverOf(dual)).patch(approve(id))).body).toMatchObject({
      certRequestStatus: 'PENDING_APPROVAL',
      certificateId: null,
    })
    expect((await dual.owner.get(`/api/v2/orders/${orderId}`)).body).toMatchObject({ status: 'RUNNING', waiting: 1 })
  })

  test.each<[string, object, object, number, string]>([
    ['the period', { allowedValidForValues: ['ONE_DAY'] }, {}, 422, 'VALID_FOR_NOT_ALLOWED'],
    ['the mode', { allowedKeyPairModes: ['PKCS10'] }, {}, 422, 'KEY_PAIR_MODE_NOT_ALLOWED'],
    ['the keys', { cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA'] } }, {}, 422, 'CRYPTO_RESTRICTION_VIOLATION'],
    [
      'the rules',
      { endEntityRules: [{ property: 'EMAIL', requirement: 'REQUIRED' }] },
      {},
      422,
      'END_ENTITY_RULE_VIOLATION',
    ],
    ['wildcards', { wildcardAllowed: false }, { commonName: '*.example.org' }, 422, 'WILDCARD_NOT_ALLOWED'],
  ])('is refused when the policy no longer allows %s', async (...[, change, subject, status, code]) => {
    const scene = await makeScene(service, { requiresManualApproval: true, wildcardAllowed: true })
    const endEntityId = await scene.newEndEntity({ commonName: 'web.example.org', ...subject })
    const id = await scene.newRequest({ endEntityId })
    expect((await scene.owner.patch(`/api/v1/policies/${scene.policyId}`, change)).status).toBe(200)
    expect(refusalOf(await scene.owner.patch(approve(id)))).toEqual([status, code])
    expect(await requestRow(service, id)).toMatchObject({ certRequestStatus: 'PENDING_APPROVAL', userResponses: [] })
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED'])
    expect((await scene.owner.patch(decline(id))).status).toBe(200)
  })

  test('is refused while an active certificate exists, and goes after that', async () => {
    const scene = await makeScene(service, { requiresManualApproval: true })
    const id = await scene.newRequest()
    const twin = await scene.newRequest()
    await scene.owner.patch(approve(twin))
    expect((await scene.owner.post(`/api/v1/certificates/cert-requests/${twin}`)).status).toBe(201)
    await scene.owner.patch(`/api/v1/policies/${scene.policyId}`, { enforceActiveCertUniqueness: true })
    expect(refusalOf(await scene.owner.patch(approve(id)))).toEqual([422, 'ACTIVE_CERTIFICATE_EXISTS'])
    await scene.owner.patch(`/api/v1/policies/${scene.policyId}`, { enforceActiveCertUniqueness: false })
    expect((await scene.owner.patch(approve(id))).status).toBe(200)
  })

  test('finds the run of its request gone and starts it again', async () => {
    const id = await single.newRequest()
    await service.client.workflow.getHandle(`cert-request/${id}`).terminate()
    expect((await single.owner.patch(approve(id))).body.certRequestStatus).toBe('APPROVED')
  })
})

test('a request that needs no approval is approved from the beginning', async () => {
  const scene = await makeScene(service)
  expect((await issueNew(scene)).id).toBeTruthy()
  expect(refusalOf(await scene.owner.patch(approve(await scene.newRequest())))).toEqual([409, 'INVALID_STATE'])
})
