// A crash between the flush of the rows and the start of their run: the reconciler makes up for it.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { WorkflowNotFoundError } from '@temporalio/client'
import { CertificateOrder, OrderItem } from '../../storage/rows/certificate-order.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { certRequestWorkflowId, issueWorkflowId, orderWorkflowId } from '../../workflows/ids.ts'
import { until } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let open: Scene
let guarded: Scene
let taskQueue: string

beforeAll(async () => {
  service = await startService()
  open = await makeScene(service)
  guarded = await makeScene(service, { requiresManualApproval: true })
  const id = await guarded.newRequest()
  taskQueue = (await service.client.workflow.getHandle(certRequestWorkflowId(id)).describe()).taskQueue
})
afterAll(() => service.stop())

const reconcile = (): Promise<{ started: number }> =>
  service.client.workflow.execute('reconcile', { workflowId: `reconcile-${randomUUID()}`, taskQueue, args: [] })
const requestOf = (id: string) => service.em().findOneOrFail(CertRequest, id)

const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1000)

/** Claims requests as a call does that dies before it starts its run. */
const claim = async (ids: readonly string[], runId: string, since: Date): Promise<void> => {
  await service.em().nativeUpdate(CertRequest, { id: { $in: [...ids] } }, { runId, runSince: since })
}

const placeOrder = async (ids: readonly string[], startedDate: Date): Promise<string> => {
  const id = orderWorkflowId(randomUUID())
  await claim(ids, id, startedDate)
  const em = service.em()
  em.create(CertificateOrder, {
    id,
    createdBy: open.owner.id,
    multiple: ids.length > 1,
    omitArtifacts: true,
    status: 'RUNNING',
    startedDate,
  })
  await em.flush()
  for (const [position, certRequestId] of ids.entries())
    em.create(OrderItem, { orderId: id, certRequestId, position, status: 'RUNNING' })
  await em.flush()
  return id
}

test('claimed requests without a run are issued once the reconciler has looked, and only once', async () => {
  const ids = [await open.newRequest(), await open.newRequest(), await open.newRequest()]
  await claim(ids, issueWorkflowId(randomUUID()), ago(40))
  expect((await reconcile()).started).toBeGreaterThanOrEqual(1)
  await until('all are issued', async () =>
    (await Promise.all(ids.map(requestOf))).every(({ certRequestStatus }) => certRequestStatus === 'ISSUED'),
  )
  await reconcile()
  expect(await service.em().count(Certificate, { certRequestId: { $in: ids } })).toBe(3)
  const [id] = ids
  const delivered = await open.owner.post(`/api/v1/certificates/cert-requests/${id}`)
  expect(delivered.status).toBe(201)
})

test('an order row without a run is carried out once the reconciler has looked', async () => {
  const ids = [await open.newRequest(), await open.newRequest()]
  const orderId = await placeOrder(ids, ago(40))
  await reconcile()
  await until('the order is completed', async () => {
    const { body } = await open.owner.get(`/api/v2/orders/${orderId}`)
    return body.status === 'COMPLETED' && body.issued === 2
  })
  expect(await service.em().count(Certificate, { certRequestId: { $in: ids } })).toBe(2)
})

test('an order that waits for approval and lost its run goes on as well', async () => {
  const id = await guarded.newRequest()
  const orderId = await placeOrder([id], ago(40))
  await service.em().nativeUpdate(CertificateOrder, { id: orderId }, { createdBy: guarded.owner.id })
  await reconcile()
  expect((await service.client.workflow.getHandle(orderId).describe()).status.name).toBe('RUNNING')
  expect((await guarded.owner.patch(`/api/v1/cert-requests/${id}/approve`)).status).toBe(200)
  await until('the order is completed', async () => {
    const { body } = await guarded.owner.get(`/api/v2/orders/${orderId}`)
    return body.status === 'COMPLETED'
  })
})

test('a waiting request that lost its run has one again, which can be told the decision', async () => {
  const id = await guarded.newRequest()
  const handle = service.client.workflow.getHandle(certRequestWorkflowId(id))
  await handle.terminate('as if it had never been started')
  await service.em().nativeUpdate(CertRequest, { id }, { createdDate: ago(40) })
  await reconcile()
  expect((await handle.describe()).status.name).toBe('RUNNING')
  const answer = await guarded.owner.patch(`/api/v1/cert-requests/${id}/approve`)
  expect([answer.status, answer.body.certRequestStatus]).toEqual([200, 'APPROVED'])
})

test('what is younger than the grace is left to its own call', async () => {
  const [id, orderId] = [await open.newRequest(), await placeOrder([await open.newRequest()], ago(5))]
  const runId = issueWorkflowId(randomUUID())
  await claim([id], runId, ago(5))
  await reconcile()
  for (const workflowId of [runId, orderId])
    await expect(service.client.workflow.getHandle(workflowId).describe()).rejects.toBeInstanceOf(WorkflowNotFoundError)
  expect((await requestOf(id)).certRequestStatus).toBe('APPROVED')
})

test('runs that are there already are not started again', async () => {
  const id = await guarded.newRequest()
  await service.em().nativeUpdate(CertRequest, { id }, { createdDate: ago(40) })
  await reconcile()
  const handle = service.client.workflow.getHandle(certRequestWorkflowId(id))
  const { runId } = await handle.describe()
  expect(await reconcile()).toEqual({ started: 0 })
  expect((await handle.describe()).runId).toBe(runId)
})
