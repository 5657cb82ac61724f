// Temporal and PostgreSQL are killed, one after the other, while orders wait for people.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { until } from '../support/issuing.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { makeScene, requestAll } from './scene.ts'

const size = 20
let service: Processes

beforeAll(async () => {
  service = await startProcesses()
}, 120_000)
afterAll(() => service.stop(), 60_000)

test('orders that wait for approval outlive the death of Temporal and of PostgreSQL', async () => {
  const { call, running } = service
  const scene = await makeScene(service, size, { requiresManualApproval: true })
  const ids = await requestAll(service, scene)
  const orders = new Map<string, string>()
  for (const id of ids) {
    const { status, body } = await call('POST', `/api/v2/certificates/cert-requests/${id}`)
    expect(status).toBe(201)
    orders.set(id, body.orderId)
  }

  await running.temporal.kill()
  expect(await running.temporal.exited).toContain('SIGKILL')
  await service.startTemporal()
  await running.postgres.kill()
  expect(await running.postgres.exited).toContain('SIGKILL')
  await service.startPostgres()
  expect(running.worker.ended()).toBe(false)
  expect(running.api.ended()).toBe(false)
  await until('the API is ready again', async () => {
    const { ok } = await fetch(`${service.started.addresses.baseUrl}/health/ready`)
    return ok
  })

  for (const id of ids) {
    expect((await call('GET', `/api/v2/orders/${orders.get(id)}`)).body).toMatchObject({ status: 'RUNNING' })
    const { status, body } = await call('PATCH', `/api/v1/cert-requests/${id}/approve`)
    expect([status, body.certRequestStatus]).toEqual([200, expect.stringMatching(/APPROVED|ISSUED/)])
  }
  for (const orderId of orders.values())
    await until(`the order ${orderId} is completed`, async () => {
      const { body } = await call('GET', `/api/v2/orders/${orderId}`)
      return body.status === 'COMPLETED' && body.certificateId
    })
  const certificates = await service.orm.em.fork().find(Certificate, {})
  expect(new Set(certificates.map(row => row.certRequestId))).toEqual(new Set(ids))
  expect(certificates).toHaveLength(size)
}, 600_000)
