// Issuing many certificates in one call.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Workbench } from '../pki/openssl.ts'
import {
  expectVerified,
  factsOf,
  issueNew,
  refusalOf,
  requestRow,
  setSetting,
  unzip,
  until,
} from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let stopWorker: () => Promise<void>

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  stopWorker = await service.startWorker()
  scene = await makeScene(service)
})
afterAll(async () => {
  await stopWorker()
  await service.stop()
  await bench.clear()
})

const url = '/api/v1/certificates/cert-requests'
const newRequests = async (count: number, own = scene) => {
  const ids: string[] = []
  while (ids.length < count) ids.push(await own.newRequest({ endEntityId: await own.newEndEntity() }))
  return ids
}
const withRow = async (members: object, own = scene) => {
  const id = await own.newRequest()
  await service.em().nativeUpdate(CertRequest, { id }, members)
  return id
}
const declined = () => withRow({ certRequestStatus: 'DECLINED' })
const requestsOf = (body: { certificates: { certRequestId: string }[] }) =>
  body.certificates.map(({ certRequestId }) => certRequestId)
const item = (id: string, index: number, apiError: string) => ({
  id,
  index,
  apiError,
  errorMessage: expect.any(String),
})

test('asks for a token', async () => {
  expect((await service.anonymous.post(url, [randomUUID()])).status).toBe(401)
})

test('issues the certificates in the order of the list, with a zip of their chains', async () => {
  const ids = await newRequests(3)
  const { status, body } = await scene.owner.post(url, ids)
  expect(status).toBe(201)
  expect(requestsOf(body)).toEqual(ids)
  expect(body.errors).toEqual([])
  expect(body.certificates[0]).toMatchObject({ certStatus: 'ACTIVE', metadata: { createdBy: scene.owner.id } })
  const files = unzip(body.zippedFile.zippedBytes)
  expect(body.zippedFile.fileName).toMatch(/\.zip$/)
  expect([...files.keys()]).toEqual(
    body.certificates.map(
      ({ subjectCommonName, serialNumber }: Record<string, string>) => `${subjectCommonName}_${serialNumber}.pem`,
    ),
  )
  for (const pem of files.values()) {
    expect(pem).not.toContain('PRIVATE KEY')
    await expectVerified(bench, pem)
  }
  for (const { id } of body.certificates) expect(await factsOf(service, id)).toEqual(['CERTIFICATE_ISSUED'])
})

test('omitArtifacts leaves the zip out', async () => {
  const { status, body } = await scene.owner.post(`${url}?omitArtifacts=true`, await newRequests(1))
  expect([status, body.certificates.length, body.zippedFile]).toEqual([201, 1, null])
  expect(refusalOf(await scene.owner.post(`${url}?omitArtifacts=perhaps`, [randomUUID()]))).toEqual([
    400,
    'INVALID_REQUEST',
  ])
})

test('an id that is there twice counts once, whatever its case', async () => {
  const [id = ''] = await newRequests(1)
  const { body } = await scene.owner.post(url, [id, id.toUpperCase(), id])
  expect([requestsOf(body), body.errors]).toEqual([[id], []])
})

test('what cannot be issued is told by id and index, and the rest is issued', async () => {
  const [good = '', late = ''] = await newRequests(2)
  const other = await makeScene(service)
  const issued = await issueNew(scene)
  const [unknown, no, pending] = [
    randomUUID(),
    await declined(),
    await withRow({ certRequestStatus: 'PENDING_APPROVAL' }),
  ]
  const foreign = await other.newRequest()
  const archived = await withRow({ archived: true })
  const ordered = await withRow({ runId: `order-${randomUUID()}`, runSince: new Date() })
  const ids = [unknown, good, foreign, no, issued.certRequestId, pending, archived, ordered, late]
  const { status, body } = await scene.owner.post(url, ids)
  expect(status).toBe(201)
  expect(requestsOf(body)).toEqual([good, late])
  expect(body.errors).toEqual([
    item(unknown, 0, 'CERT_REQUEST_NOT_FOUND'),
    item(foreign, 2, 'ACCESS_DENIED'),
    item(no, 3, 'INVALID_STATE'),
    item(issued.certRequestId, 4, 'ALREADY_ISSUED'),
    item(pending, 5, 'INVALID_STATE'),
    item(archived, 6, 'ENTITY_ARCHIVED'),
    item(ordered, 7, 'ALREADY_ORDERED'),
  ])
})

test('what the policy no longer allows fails alone', async () => {
  const strict = await makeScene(service)
  const caller = await service.user({ GLOBAL: ['ADMIN'] })
  const [bad, [good = '']] = [await strict.newRequest(), await newRequests(1)]
  await strict.owner.patch(`/api/v1/policies/${strict.policyId}`, { allowedValidForValues: ['ONE_DAY'] })
  const { status, body } = await caller.post(url, [bad, good])
  expect([status, requestsOf(body)]).toEqual([201, [good]])
  expect(body.errors).toEqual([item(bad, 0, 'VALID_FOR_NOT_ALLOWED')])
  expect(await requestRow(service, bad)).toMatchObject({ certRequestStatus: 'APPROVED', runId: null })
})

test('of two requests of an end entity one is issued where certificates are unique', async () => {
  const unique = await makeScene(service, { enforceActiveCertUniqueness: true })
  const ids = [await unique.newRequest(), await unique.newRequest()]
  const { body } = await unique.owner.post(url, ids)
  expect(requestsOf(body)).toEqual([ids[0]])
  expect(body.errors).toEqual([item(ids[1] ?? '', 1, 'ACTIVE_CERTIFICATE_EXISTS')])
})

test('when every item fails at its issue, the call fails with one entry an item', async () => {
  const strict = await makeScene(service)
  const ids = [await strict.newRequest(), await strict.newRequest()]
  await strict.owner.patch(`/api/v1/policies/${strict.policyId}`, { allowedValidForValues: ['ONE_DAY'] })
  const reply = await strict.owner.post(url, ids)
  expect(refusalOf(reply)).toEqual([422, 'VALID_FOR_NOT_ALLOWED'])
  expect(reply.body.fieldErrors).toEqual(
    ids.map(id => ({ field: id, message: expect.stringContaining('VALID_FOR_NOT_ALLOWED: ') })),
  )
})

describe('when nothing is accepted', () => {
  test.each<[string, () => Promise<string[]>, number, string[]]>([
    [
      '409 codes only',
      async () => [await declined(), (await issueNew(scene)).certRequestId],
      409,
      ['INVALID_STATE', 'ALREADY_ISSUED'],
    ],
    [
      'the first is 404',
      async () => [randomUUID(), await declined()],
      422,
      ['CERT_REQUEST_NOT_FOUND', 'INVALID_STATE'],
    ],
    [
      'the first is 409',
      async () => [await declined(), randomUUID()],
      422,
      ['INVALID_STATE', 'CERT_REQUEST_NOT_FOUND'],
    ],
  ])('%s', async (...[, make, status, codes]) => {
    const ids = await make()
    const reply = await scene.owner.post(url, ids)
    expect(refusalOf(reply)).toEqual([status, codes[0]])
    expect(reply.body.fieldErrors).toEqual(
      ids.map((id, index) => ({ field: id, message: expect.stringContaining(codes[index] ?? '') })),
    )
  })

  test('rights in another realm only', async () => {
    const { owner } = await makeScene(service)
    const reply = await owner.post(url, await newRequests(2))
    expect(refusalOf(reply)).toEqual([422, 'ACCESS_DENIED'])
    expect(reply.body.fieldErrors).toHaveLength(2)
  })
})

test.each<[string, unknown, string]>([
  ['an empty list', [], 'INVALID_REQUEST'],
  ['an id that is none', ['x'], 'INVALID_IDENTIFIER'],
  ['what is no list', { ids: [] }, 'INVALID_JSON'],
  ['more than 1,000', Array.from({ length: 1001 }, () => randomUUID()), 'REQUEST_TOO_LARGE'],
])('%s is refused', async (...[, body, code]) => {
  expect(refusalOf(await scene.owner.post(url, body))).toEqual([400, code])
})

describe('while nobody issues', () => {
  beforeAll(() => stopWorker())
  afterAll(async () => {
    stopWorker = await service.startWorker()
  })
  const taken = (id: string) => until('the request is taken', async () => (await requestRow(service, id)).runId)
  const issueAll = async (ids: string[]) => {
    const stop = await service.startWorker()
    for (const id of ids) await until('it is issued', async () => (await requestRow(service, id)).certificateId)
    await stop()
  }

  test('a list joins the run of one request and takes the others', async () => {
    const [one = '', two = ''] = await newRequests(2)
    const single = scene.owner.post(`${url}/${one}`)
    await taken(one)
    const both = scene.owner.post(url, [one, two])
    await taken(two)
    const stop = await service.startWorker()
    const [first, second] = await Promise.all([single, both])
    await stop()
    expect([first.status, second.status, requestsOf(second.body)]).toEqual([201, 201, [one, two]])
    expect(second.body.certificates[0].id).toBe(first.body.certificate.id)
    expect(await service.em().count(Certificate, { certRequestId: { $in: [one, two] } })).toBe(2)
  })

  test('what is not there in time is pending, and delivered once when it is', async () => {
    await setSetting(service, 'issue.batch-wait-seconds', '1')
    const ids = await newRequests(2)
    const { status, body } = await scene.owner.post(url, ids)
    expect([status, body.certificates]).toEqual([201, []])
    expect(body.errors).toEqual(ids.map((id, index) => item(id, index, 'ISSUE_PENDING')))
    await setSetting(service, 'issue.batch-wait-seconds', null)
    await issueAll(ids)
    const [again, twice] = await Promise.all([scene.owner.post(url, ids), scene.owner.post(url, ids)])
    const delivered = [again, twice].flatMap(reply => (reply.status === 201 ? requestsOf(reply.body) : []))
    expect(delivered.toSorted()).toEqual(ids.toSorted())
    expect(refusalOf(await scene.owner.post(url, ids))).toEqual([409, 'ALREADY_ISSUED'])
  })

  test('a call without the right to a request does not use up its delivery', async () => {
    await setSetting(service, 'issue.wait-seconds', '1')
    const [id = ''] = await newRequests(1)
    expect(refusalOf(await scene.owner.post(`${url}/${id}`))).toEqual([422, 'ISSUE_PENDING'])
    await setSetting(service, 'issue.wait-seconds', null)
    await issueAll([id])
    const outsider = await makeScene(service)
    const stop = await service.startWorker()
    const reply = await outsider.owner.post(url, [id, ...(await newRequests(1, outsider))])
    await stop()
    expect(reply.body.errors).toEqual([item(id, 0, 'ACCESS_DENIED')])
    expect((await scene.owner.post(`${url}/${id}`)).status).toBe(201)
  })
})
