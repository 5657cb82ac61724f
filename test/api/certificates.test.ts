import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service)
})
afterAll(() => service.stop())

test('an approved request becomes a certificate with its chain', async () => {
  const id = await scene.newRequest()
  const reply = await scene.owner.post(`/api/v1/certificates/cert-requests/${id}`)
  expect(reply).toMatchObject({
    status: 201,
    body: { certRequestStatus: 'ISSUED', certificate: { certStatus: 'ACTIVE' } },
  })
  expect(reply.body.certificateChainPem.pemCertificate.match(/BEGIN CERTIFICATE/g)).toHaveLength(3)
})
