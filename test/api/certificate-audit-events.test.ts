// What is told of a certificate's history (contract 11.1).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { exampleCertificatePem } from '../../api/kernel/examples.ts'
import { system } from '../../domain/principal.ts'
import { recordMany } from '../../storage/audit.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { certificateReaders } from '../support/certificate-readers.ts'
import { importPem } from '../support/importing.ts'
import { issueNew, refusalOf, until } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
})
afterAll(() => service.stop())

interface Told {
  readonly objectId: string
  readonly eventType: string
  readonly eventDescription: string
  readonly occurredDate: string
}

const url = (id: string, what = 'audit-events') => `/api/v1/certificates/${id}/${what}`
const eventsOf = async (id: string, { owner } = scene): Promise<Told[]> => {
  const { status, body } = await owner.get(url(id))
  expect(status).toBe(200)
  expect(Object.keys(body)).toEqual(['auditEventList'])
  return body.auditEventList
}
const kindsOf = async (id: string, from = scene): Promise<string[]> =>
  (await eventsOf(id, from)).map(({ eventType }) => eventType)

test('asks for a token', async () => {
  expect((await service.anonymous.get(url(randomUUID()))).status).toBe(401)
})

test('tells what happened to the certificate and its request, newest first', async () => {
  const { id, certRequestId, subjectDn } = await issueNew(scene)
  await issueNew(scene)
  expect((await scene.owner.get(url(id, 'download'))).status).toBe(200)
  const actor = `by ${scene.owner.subject}@example.com`
  const told = await eventsOf(id)
  const event = (objectId: string, eventType: string, what: RegExp) => ({
    objectId,
    eventType,
    eventDescription: expect.stringMatching(what),
    occurredDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  })
  expect(told).toEqual([
    event(id, 'CERTIFICATE_DOWNLOADED', new RegExp(`^Certificate ${subjectDn} downloaded ${actor}$`)),
    event(
      id,
      'CERTIFICATE_ISSUED',
      new RegExp(`^Certificate ${subjectDn} issued for request ${certRequestId} after lint [^)]+[)] by `),
    ),
    event(certRequestId, 'CERT_REQUEST_CREATED', new RegExp(`^Certificate request of .+ created ${actor}$`)),
  ])
  const dates = told.map(({ occurredDate }) => occurredDate)
  expect(dates).toEqual(dates.toSorted().toReversed())
})

test('the approval and the order of its request belong to a certificate', async () => {
  const approving = await makeScene(service, { requiresManualApproval: true })
  const requestId = await approving.newRequest()
  expect((await approving.owner.patch(`/api/v1/cert-requests/${requestId}/approve`)).status).toBe(200)
  expect((await approving.owner.post(`/api/v2/certificates/cert-requests/${requestId}`)).status).toBe(201)
  const { id } = await until('the ordered certificate is issued', () =>
    service.em().findOne(Certificate, { certRequestId: requestId }),
  )
  expect(await kindsOf(id, approving)).toEqual([
    'CERTIFICATE_ISSUED',
    'CERTIFICATE_ORDERED',
    'CERT_REQUEST_APPROVED',
    'CERT_REQUEST_CREATED',
  ])
})

test('each event of an import is told once', async () => {
  const importing = await makeScene(service, { certificateImportAllowed: true })
  const { body } = await importPem(importing, exampleCertificatePem)
  expect(await kindsOf(body.importedCertificates[0].id, importing)).toEqual([
    'CERTIFICATE_IMPORTED',
    'CERT_REQUEST_CREATED',
  ])
})

test('reading the events is none', async () => {
  const { id } = await issueNew(scene)
  const first = await eventsOf(id)
  expect(await eventsOf(id)).toEqual(first)
})

test('an archived certificate still tells', async () => {
  const { id } = await issueNew(scene)
  await service.em().nativeUpdate(Certificate, { id }, { archived: true })
  expect(await kindsOf(id)).toEqual(['CERTIFICATE_ISSUED', 'CERT_REQUEST_CREATED'])
})

test('of very many events the newest 10,000 are told', async () => {
  const { id } = await issueNew(scene)
  const facts = Array.from({ length: 10_001 }, (_, at) => ({
    type: 'CERTIFICATE_DOWNLOADED' as const,
    objectId: id,
    certificateId: id,
    what: `Download ${at}`,
  }))
  await recordMany(service.em(), facts, { now: new Date(), author: system })
  const told = await eventsOf(id)
  expect(told).toHaveLength(10_000)
  expect([told.at(0), told.at(-1)].map(event => event?.eventDescription)).toEqual([
    'Download 10000 by the service',
    'Download 1 by the service',
  ])
})

test.each(certificateReaders)('with %s: %#', async (...[, grants, status]) => {
  const { id } = await issueNew(scene)
  expect((await (await service.user(grants(id, scene))).get(url(id))).status).toBe(status)
})

test('an unknown one is 404, one of another realm 403', async () => {
  const { owner } = await makeScene(service)
  expect(refusalOf(await owner.get(url(randomUUID())))).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
  expect(refusalOf(await owner.get(url('none')))).toEqual([400, 'INVALID_IDENTIFIER'])
  expect(refusalOf(await owner.get(url((await issueNew(scene)).id)))).toEqual([403, 'ACCESS_DENIED'])
})
