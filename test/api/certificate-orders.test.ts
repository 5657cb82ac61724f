// Ordering certificates and reading orders (contract 4.2).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Workbench } from '../pki/openssl.ts'
import type { ApiCaller } from '../support/api.ts'
import {
  expectVerified,
  factsOf,
  issueNew,
  refusalOf,
  requestRow,
  statusesOf,
  unzip,
  until,
} from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let careful: Scene
let stopWorker: () => Promise<void>

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  stopWorker = await service.startWorker()
  scene = await makeScene(service)
  careful = await makeScene(service, { requiresManualApproval: true })
})
afterAll(async () => {
  await stopWorker()
  await service.stop()
  await bench.clear()
})

const url = '/api/v2/certificates/cert-requests'
const orders = '/api/v2/orders'
const place = async (id: string, caller: ApiCaller = scene.owner): Promise<string> =>
  (await caller.post(`${url}/${id}`)).body.orderId
const closed = (orderId: string, caller: ApiCaller = scene.owner) =>
  until('the order is closed', async () => {
    const { body } = await caller.get(`${orders}/${orderId}`)
    return body.closedDate && body
  })
const decide = (id: string, action: 'approve' | 'decline') =>
  careful.owner.patch(`/api/v1/cert-requests/${id}/${action}`)
const newRequests = async (count: number, own = scene) => {
  const ids: string[] = []
  while (ids.length < count) ids.push(await own.newRequest({ endEntityId: await own.newEndEntity() }))
  return ids
}
const withRow = async (members: object) => {
  const id = await scene.newRequest()
  await service.em().nativeUpdate(CertRequest, { id }, members)
  return id
}
const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
const item = (id: string, index: number, apiError: string) => ({
  id,
  index,
  apiError,
  errorMessage: expect.any(String),
})

test.each([
  ['post', `${url}/${randomUUID()}`],
  ['post', url],
  ['get', `${orders}/order-${randomUUID()}`],
  ['get', `${orders}/order-${randomUUID()}/items`],
] as const)('%s %s asks for a token', async (method, path) => {
  expect((await service.anonymous[method](path)).status).toBe(401)
})

describe('orderCertificate', () => {
  test('places the order and issues in the background', async () => {
    const id = await scene.newRequest()
    const { status, body } = await scene.owner.post(`${url}/${id}`)
    expect(status).toBe(201)
    expect(body).toEqual({
      orderId: expect.stringMatching(/^[A-Za-z0-9_-]{1,100}$/),
      certRequestId: id,
      certRequestStatus: 'APPROVED',
      certificateId: null,
    })
    expect(await closed(body.orderId)).toEqual({
      orderId: body.orderId,
      status: 'COMPLETED',
      certRequestId: id,
      certificateId: (await requestRow(service, id)).certificateId,
      certRequestStatus: 'ISSUED',
      failure: null,
      total: 1,
      issued: 1,
      failed: 0,
      waiting: 0,
      startedDate: date,
      closedDate: date,
      zippedFile: null,
    })
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED', 'CERTIFICATE_ORDERED'])
    expect(refusalOf(await scene.owner.post(`/api/v1/certificates/cert-requests/${id}`))).toEqual([
      409,
      'ALREADY_ISSUED',
    ])
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['DECLINED', { certRequestStatus: 'DECLINED' }, 'INVALID_STATE'],
    ['ISSUED', { certRequestStatus: 'ISSUED' }, 'ALREADY_ISSUED'],
    ['archived', { archived: true }, 'ENTITY_ARCHIVED'],
    ['ordered', { runId: `order-${randomUUID()}`, runSince: new Date() }, 'ALREADY_ORDERED'],
    ['being issued', { runId: `issue/${randomUUID()}`, runSince: new Date() }, 'ALREADY_ORDERED'],
  ])('a request that is %s is refused', async (...[, members, code]) => {
    const id = await withRow(members)
    expect(refusalOf(await scene.owner.post(`${url}/${id}`))).toEqual([409, code])
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED'])
  })

  test.each(['PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION'] as const)('waits while %s', async certRequestStatus => {
    const id = await withRow({ certRequestStatus })
    const { body } = await scene.owner.post(`${url}/${id}`)
    expect(body).toMatchObject({ certRequestStatus, certificateId: null })
    expect(refusalOf(await scene.owner.post(`${url}/${id}`))).toEqual([409, 'ALREADY_ORDERED'])
    expect((await scene.owner.get(`/api/v1/cert-requests/${id}`)).body.orderId).toBe(body.orderId)
    const { body: told } = await scene.owner.get(`${orders}/${body.orderId}`)
    expect(told).toMatchObject({ status: 'RUNNING', waiting: 1, issued: 0, closedDate: null })
  })

  test('a refusal of the checks fails the order, and the request may be ordered again', async () => {
    const own = await makeScene(service)
    const id = await own.newRequest()
    const allow = (period: string) =>
      own.owner.patch(`/api/v1/policies/${own.policyId}`, { allowedValidForValues: [period] })
    await allow('ONE_DAY')
    expect(await closed(await place(id, own.owner), own.owner)).toMatchObject({
      status: 'FAILED',
      certRequestStatus: 'APPROVED',
      certificateId: null,
      failure: { apiError: 'VALID_FOR_NOT_ALLOWED', errorMessage: expect.any(String) },
      failed: 1,
      waiting: 0,
    })
    const failed = await service.em().findOneOrFail(AuditEvent, { objectId: id, eventType: 'ORDER_FAILED' })
    expect(failed).toMatchObject({ realmId: own.realmId, principalType: 'SYSTEM', principalId: null })
    await allow('SIX_MONTHS')
    expect(await closed(await place(id, own.owner), own.owner)).toMatchObject({ status: 'COMPLETED', failure: null })
  })

  test('of several orders and calls at the same time exactly one takes the request', async () => {
    for (const id of await newRequests(4)) {
      const replies = await Promise.all([
        scene.owner.post(`/api/v1/certificates/cert-requests/${id}`),
        scene.owner.post(`${url}/${id}`),
        scene.owner.post(`${url}/${id}`),
      ])
      expect(statusesOf(replies)).toEqual([201, 409, 409])
      const codes = replies.filter(({ status }) => status === 409).map(({ body }) => body.apiError)
      expect(['ALREADY_ORDERED', 'ALREADY_ISSUED']).toEqual(expect.arrayContaining([...new Set(codes)]))
      await until('it is issued', async () => (await requestRow(service, id)).certificateId)
      expect(await service.em().count(Certificate, { certRequestId: id })).toBe(1)
    }
  })

  test('takes CERTS_CREATE and the request', async () => {
    const id = await scene.newRequest()
    const creating = { POLICY: { [scene.policyId]: ['CERTS_CREATE'] } }
    const callers = [
      await service.user(creating),
      await service.user({ CERT_REQUEST: { [id]: ['READ', 'UPDATE', 'APPROVE'] } }),
      careful.owner,
    ]
    for (const caller of callers) expect(refusalOf(await caller.post(`${url}/${id}`))).toEqual([403, 'ACCESS_DENIED'])
    const able = await service.apiClient({ ...creating, CERT_REQUEST: { [id]: ['READ'] } })
    expect((await able.post(`${url}/${id}`)).status).toBe(201)
    expect(refusalOf(await able.post(`${url}/${randomUUID()}`))).toEqual([404, 'CERT_REQUEST_NOT_FOUND'])
  })
})

describe('orderMultipleCertificates', () => {
  test('orders what it may and tells the rest by id and index', async () => {
    const [one = '', two = ''] = await newRequests(2)
    const [unknown, foreign] = [randomUUID(), await careful.newRequest()]
    const no = await withRow({ certRequestStatus: 'DECLINED' })
    const { certRequestId: issued } = await issueNew(scene)
    const ids = [unknown, one, foreign, no, issued, two, one]
    const { status, body } = await scene.owner.post(url, ids)
    expect(status).toBe(201)
    expect(body).toEqual({
      orderId: expect.stringMatching(/^[A-Za-z0-9_-]{1,100}$/),
      accepted: [one, two],
      errors: [
        item(unknown, 0, 'CERT_REQUEST_NOT_FOUND'),
        item(foreign, 2, 'ACCESS_DENIED'),
        item(no, 3, 'INVALID_STATE'),
        item(issued, 4, 'ALREADY_ISSUED'),
      ],
    })
    const end = await closed(body.orderId)
    expect(end).toMatchObject({ status: 'COMPLETED', certRequestId: null, certificateId: null, total: 2, issued: 2 })
    const files = [...unzip(end.zippedFile.zippedBytes).values()]
    expect(files).toHaveLength(2)
    for (const pem of files) await expectVerified(bench, pem)
    expect(await factsOf(service, one)).toEqual(['CERT_REQUEST_CREATED', 'CERTIFICATE_ORDERED'])
  })

  test('omitArtifacts leaves the zip out of the status', async () => {
    const { body } = await scene.owner.post(`${url}?omitArtifacts=true`, await newRequests(2))
    expect(await closed(body.orderId)).toMatchObject({ status: 'COMPLETED', issued: 2, zippedFile: null })
  })

  test('each item waits for its own decision', async () => {
    const [yes = '', no = '', later = ''] = await newRequests(3, careful)
    await decide(yes, 'approve')
    const { orderId } = (await careful.owner.post(url, [yes, no, later])).body
    const status = async () => (await careful.owner.get(`${orders}/${orderId}`)).body
    await until('the approved one is issued', async () => (await status()).issued === 1)
    expect(await status()).toMatchObject({ status: 'RUNNING', total: 3, waiting: 2, failed: 0, zippedFile: null })
    await decide(no, 'decline')
    expect(await status()).toMatchObject({ status: 'RUNNING', waiting: 1, failed: 1 })
    await decide(later, 'approve')
    const end = await closed(orderId, careful.owner)
    expect(end).toMatchObject({ status: 'COMPLETED', total: 3, issued: 2, failed: 1, waiting: 0 })
    expect(unzip(end.zippedFile.zippedBytes).size).toBe(2)
    const { body } = await careful.owner.get(`${orders}/${orderId}/items`)
    const certificateOf = async (id: string) => (await requestRow(service, id)).certificateId
    expect(body).toMatchObject({ totalElements: 3, first: true, last: true })
    expect(body.content).toEqual([
      {
        certRequestId: yes,
        status: 'COMPLETED',
        certRequestStatus: 'ISSUED',
        certificateId: await certificateOf(yes),
        failure: null,
      },
      { certRequestId: no, status: 'CANCELED', certRequestStatus: 'DECLINED', certificateId: null, failure: null },
      {
        certRequestId: later,
        status: 'COMPLETED',
        certRequestStatus: 'ISSUED',
        certificateId: await certificateOf(later),
        failure: null,
      },
    ])
  })

  test('is canceled when all were declined, failed when one failed and none was issued', async () => {
    const [one = '', two = '', three = ''] = await newRequests(3, careful)
    const first = (await careful.owner.post(url, [one, two])).body.orderId
    await decide(one, 'decline')
    await decide(two, 'decline')
    expect(await closed(first, careful.owner)).toMatchObject({ status: 'CANCELED', failed: 2, issued: 0 })
    await decide(three, 'approve')
    await service.em().nativeUpdate(CertRequest, { id: three }, { validFor: 'TEN_YEARS' })
    const [four = ''] = await newRequests(1, careful)
    const second = (await careful.owner.post(url, [three, four])).body.orderId
    await decide(four, 'decline')
    expect(await closed(second, careful.owner)).toMatchObject({ status: 'FAILED', failed: 2, issued: 0, failure: null })
  })

  test('the whole is refused when nothing is accepted', async () => {
    const [no, running] = [await withRow({ certRequestStatus: 'DECLINED' }), await careful.newRequest()]
    await place(running, careful.owner)
    const all409 = await scene.owner.post(url, [no])
    expect(refusalOf(all409)).toEqual([409, 'INVALID_STATE'])
    expect(refusalOf(await careful.owner.post(url, [running]))).toEqual([409, 'ALREADY_ORDERED'])
    const mixed = await scene.owner.post(url, [running, no])
    expect(refusalOf(mixed)).toEqual([422, 'ACCESS_DENIED'])
    expect(mixed.body.fieldErrors).toEqual([
      { field: running, message: expect.stringContaining('ACCESS_DENIED') },
      { field: no, message: expect.stringContaining('INVALID_STATE') },
    ])
  })

  test.each<[string, unknown, string]>([
    ['an empty list', [], 'INVALID_REQUEST'],
    ['an id that is none', ['x'], 'INVALID_IDENTIFIER'],
    ['what is no list', {}, 'INVALID_JSON'],
    ['more than 10,000', Array.from({ length: 10_001 }, () => randomUUID()), 'REQUEST_TOO_LARGE'],
  ])('%s is refused', async (...[, body, code]) => {
    expect(refusalOf(await scene.owner.post(url, body))).toEqual([400, code])
  })
})

describe('an order', () => {
  test('of one is told to its creator and to the readers of the request', async () => {
    const id = await careful.newRequest()
    const creator = await service.user({
      POLICY: { [careful.policyId]: ['CERTS_CREATE', 'CERTREQS_READ'] },
    })
    const orderId = await place(id, creator)
    const readers = [creator, careful.owner, await service.user({ CERT_REQUEST: { [id]: ['READ'] } })]
    for (const reader of readers)
      for (const path of ['', '/items']) expect((await reader.get(`${orders}/${orderId}${path}`)).status).toBe(200)
    for (const path of ['', '/items'])
      expect(refusalOf(await scene.owner.get(`${orders}/${orderId}${path}`))).toEqual([403, 'ACCESS_DENIED'])
  })

  test('of several is told to its creator and to administrators alone', async () => {
    const { orderId } = (await careful.owner.post(url, await newRequests(1, careful))).body
    const admin = await service.user({ GLOBAL: ['ADMIN'] })
    const reader = await service.user({ GLOBAL: ['REALMS_FULL_READ'] })
    expect((await careful.owner.get(`${orders}/${orderId}`)).status).toBe(200)
    expect((await admin.get(`${orders}/${orderId}/items`)).status).toBe(200)
    expect((await reader.get(`${orders}/${orderId}`)).status).toBe(403)
    expect((await reader.get(`${orders}/${orderId}/items`)).status).toBe(403)
  })

  test.each(['', '/items'])('that is unknown is 404%s', async path => {
    const known = await scene.owner.get(`${orders}/order-${randomUUID()}${path}`)
    expect(refusalOf(known)).toEqual([404, 'ORDER_NOT_FOUND'])
    expect(refusalOf(await scene.owner.get(`${orders}/${'_-Aa0'.repeat(20)}${path}`))).toEqual([404, 'ORDER_NOT_FOUND'])
  })

  test.each(['a.b', 'a%20b', 'a%2Fb', '..%2Fa', 'order%0A', '%00', '%C3%A4', 'a+b', 'a:b', '%25', 'x'.repeat(101)])(
    'is an id of letters, digits, _ and -, not %s',
    async id => {
      for (const tail of ['', '/', '/items', '/items/', '/items?page=0&size=5'])
        expect(refusalOf(await scene.owner.get(`${orders}/${id}${tail}`))).toEqual([400, 'INVALID_REQUEST'])
      const { status } = await fetch(`${service.url}${orders}/${id}`)
      expect(status).toBe(401)
    },
  )

  test('of one has one item, and the items come in pages', async () => {
    const id = await careful.newRequest()
    const orderId = await place(id, careful.owner)
    const running = { status: 'RUNNING', certRequestStatus: 'PENDING_APPROVAL', certificateId: null, failure: null }
    expect((await careful.owner.get(`${orders}/${orderId}/items`)).body).toMatchObject({
      content: [{ certRequestId: id, ...running }],
      totalElements: 1,
    })
    const ids = await newRequests(3, careful)
    const several = (await careful.owner.post(url, ids)).body.orderId
    const page = (query: string) => careful.owner.get(`${orders}/${several}/items?${query}`)
    const { body } = await page('size=2&page=1')
    expect(body).toEqual({
      content: [{ certRequestId: ids[2], ...running }],
      totalElements: 3,
      totalPages: 2,
      number: 1,
      size: 2,
      numberOfElements: 1,
      first: false,
      last: true,
      empty: false,
    })
    expect((await page('page=9')).body).toMatchObject({ content: [], empty: true, totalElements: 3 })
    const sorted = async (sort: string) =>
      (await page(`sort=${sort}`)).body.content.map((one: { certRequestId: string }) => one.certRequestId)
    expect(await sorted('certRequestId,desc')).toEqual(ids.toSorted().toReversed())
    await decide(ids[1] ?? '', 'decline')
    expect(await sorted('certRequestStatus,asc')).toEqual([ids[1], ids[0], ids[2]])
    for (const wrong of ['size=0', 'size=1001', 'page=-1', 'sort=weight'])
      expect(refusalOf(await page(wrong))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('that waited longer than allowed has expired', async () => {
    await stopWorker()
    const id = await careful.newRequest()
    const orderId = await place(id, careful.owner)
    const longAgo = new Date(Date.now() - 91 * 24 * 60 * 60 * 1000)
    await service.em().nativeUpdate(CertificateOrder, { id: orderId }, { startedDate: longAgo })
    stopWorker = await service.startWorker()
    expect(await closed(orderId, careful.owner)).toMatchObject({
      status: 'FAILED',
      failure: { apiError: 'ORDER_EXPIRED' },
      certRequestStatus: 'PENDING_APPROVAL',
    })
    expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED', 'CERTIFICATE_ORDERED', 'ORDER_FAILED'])
    expect((await careful.owner.post(`${url}/${id}`)).status).toBe(201)
  })
})
