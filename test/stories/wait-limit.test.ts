// A certificate that is not there when its caller stops waiting (contract 4.2).
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { refusalOf, requestRow, setSetting, until } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  scene = await makeScene(service)
  await setSetting(service, 'issue.wait-seconds', '1')
  await setSetting(service, 'issue.batch-wait-seconds', '1')
})
afterAll(async () => {
  for (const stop of stops) await stop()
  await service.stop()
})

test('a decision that no worker records in time is answered 503, and not taken for made', async () => {
  const careful = await makeScene(service, { requiresManualApproval: true })
  const id = await careful.newRequest()
  const approver = await service.user({ POLICY: { [careful.policyId]: ['CERTREQS_APPROVE'] } })
  const answer = await approver.patch(`/api/v1/cert-requests/${id}/approve`)
  expect([refusalOf(answer), answer.headers.get('retry-after')]).toEqual([[503, 'SERVICE_UNAVAILABLE'], '5'])
  expect(answer.body.errorMessage).toBe('The decision was sent, but no worker has recorded it yet.')
  expect((await requestRow(service, id)).certRequestStatus).toBe('PENDING_APPROVAL')
})

test('a call past the wait limit is told that issuing goes on, and the certificate is there later, once', async () => {
  const id = await scene.newRequest()
  const batch = [await scene.newRequest(), await scene.newRequest()]
  const create = () => scene.owner.post(`/api/v1/certificates/cert-requests/${id}`)

  expect(refusalOf(await create())).toEqual([422, 'ISSUE_PENDING'])
  // The same call joins the run that is under way instead of starting another.
  expect(refusalOf(await create())).toEqual([422, 'ISSUE_PENDING'])
  expect(refusalOf(await scene.owner.post(`/api/v2/certificates/cert-requests/${id}`))).toEqual([
    409,
    'ALREADY_ORDERED',
  ])
  const pending = await scene.owner.post('/api/v1/certificates/cert-requests', batch)
  expect(JSON.stringify(pending.body)).toContain('ISSUE_PENDING')
  expect(await service.em().count(Certificate)).toBe(0)

  stops.push(await service.startWorker())
  const certificateId = await until('the certificate is there', async () => {
    const { body } = await scene.owner.get(`/api/v1/cert-requests/${id}`)
    return body.certificateId
  })
  for (const one of batch)
    await until('the batch is there', async () => {
      const { body } = await scene.owner.get(`/api/v1/cert-requests/${one}`)
      return body.certRequestStatus === 'ISSUED'
    })
  const delivered = await create()
  expect([delivered.status, delivered.body.certificate?.id]).toEqual([201, certificateId])
  expect(refusalOf(await create())).toEqual([409, 'ALREADY_ISSUED'])
  expect(await service.em().count(Certificate)).toBe(3)
})
