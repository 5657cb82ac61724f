// What takes days, on a server that skips time.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { WithStartWorkflowOperation, type WorkflowHandle } from '@temporalio/client'
import type { Activities } from '../../activities/index.ts'
import type { certRequest } from '../../workflows/cert-request.ts'
import { certRequestWorkflowId, orderWorkflowId } from '../../workflows/ids.ts'
import { approve } from '../../workflows/messages.ts'
import type { orderCertificates } from '../../workflows/order-certificates.ts'
import { pendingState, person, startRig, told, until, type Place, type Rig } from './rig.ts'
import { startTimeSkipping } from './time-skipping.ts'

const day = 24 * 3_600_000

let skipping: Awaited<ReturnType<typeof startTimeSkipping>>
let env: typeof skipping.env
let place: Place
let rig: Rig | undefined

beforeAll(async () => {
  skipping = await startTimeSkipping()
  ;({ env, place } = skipping)
})
afterEach(async () => {
  await rig?.stop()
  rig = undefined
})
afterAll(() => skipping.stop())

const start = async (fakes: Partial<Activities>) => (rig = await startRig(place, fakes))

/** Time moves only where a test says so, and a test says so only when the run waits for nothing but its timer. */
const waits = (handle: WorkflowHandle) =>
  until(async () => Boolean((await handle.fetchHistory()).events?.at(-1)?.timerStartedEventAttributes))

const startOrder = async ({ client, taskQueue }: Rig) => {
  const workflowId = orderWorkflowId(randomUUID())
  const handle = await client.workflow.start<typeof orderCertificates>('orderCertificates', {
    workflowId,
    taskQueue,
    args: [workflowId],
  })
  await waits(handle)
  return handle
}

test('an order that nobody decides on ends at its deadline', async () => {
  const expiresAt = new Date((await env.currentTimeMs()) + 90 * day).toISOString()
  const rig = await start({
    beginOrder: async () => ({ itemCount: 1, expiresAt }),
    issueOrderItems: async () => ({ issued: 0, waiting: 1 }),
    closeOrder: async () => ({ status: 'FAILED' }),
  })
  const handle = await startOrder(rig)
  await env.sleep('89 days')
  await waits(handle)
  expect(rig.of('closeOrder')).toHaveLength(0)
  await env.sleep('1 day')
  expect(await handle.result()).toBe('FAILED')
  expect(rig.of('closeOrder').map(({ input }) => input)).toEqual([{ orderId: handle.workflowId }])
})

test('an order whose message was lost looks at the records again after six hours', async () => {
  const expiresAt = new Date((await env.currentTimeMs()) + 90 * day).toISOString()
  let waiting = 1
  const rig = await start({
    beginOrder: async () => ({ itemCount: 1, expiresAt }),
    issueOrderItems: async () => ({ issued: 1 - waiting, waiting: waiting-- }),
    closeOrder: async () => ({ status: 'COMPLETED' }),
  })
  const handle = await startOrder(rig)
  await env.sleep('5 hours')
  expect(rig.of('issueOrderItems')).toHaveLength(1)
  await env.sleep('1 hour')
  expect(await handle.result()).toBe('COMPLETED')
  expect(rig.of('issueOrderItems')).toHaveLength(2)
})

test('the run of a request ends when its time is over, and the request can still be decided', async () => {
  const { client, taskQueue, calls } = await start({
    recordDecision: async () => ({ status: 'APPROVED', orderId: null }),
  })
  const certRequestId = randomUUID()
  const workflowId = certRequestWorkflowId(certRequestId)
  const args: Parameters<typeof certRequest> = [{ certRequestId, state: pendingState, waitDays: 90 }]
  const handle = await client.workflow.start<typeof certRequest>('certRequest', { workflowId, taskQueue, args })
  await waits(handle)
  await env.sleep('89 days')
  expect((await handle.describe()).status.name).toBe('RUNNING')
  await env.sleep('1 day')
  expect(await handle.result()).toBe('PENDING_APPROVAL')
  expect(calls).toEqual([])

  const principal = person()
  const outcome = await client.workflow.executeUpdateWithStart(approve, {
    args: told({ workflowId }, 'APPROVE', principal),
    startWorkflowOperation: new WithStartWorkflowOperation<typeof certRequest>('certRequest', {
      workflowId,
      taskQueue,
      args,
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  })
  expect(outcome).toEqual({ status: 'APPROVED', orderId: null })
  const input = { certRequestId, action: 'APPROVE', principal, decisionId: expect.any(String) }
  expect(calls).toEqual([{ name: 'recordDecision', input }])
  expect(await client.workflow.getHandle(workflowId).result()).toBe('APPROVED')
})
