// A worker of version 0.1 goes, that of this version comes, while runs wait for people (docs/upgrading.md).
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { WorkflowHandle } from '@temporalio/client'
import type { Activities } from '../../activities/index.ts'
import { bundleWorkflows } from '../../worker/worker.ts'
import { certRequestWorkflowId, orderWorkflowId } from '../../workflows/ids.ts'
import { approve, requestsChanged, searchAttributes } from '../../workflows/messages.ts'
import { stack } from '../support/stack.ts'
import { pendingState, person, serverAt, startRig, told, until, type Place, type Rig } from './rig.ts'

let present: Place
let earlier: Place
let taskQueue: string
/** The requests that were issued for an order, as the records have them. */
let issued: string[]

beforeAll(async () => {
  present = await serverAt(stack.temporalAddress(), { codePath: stack.workflowBundle() })
  const path = fileURLToPath(new URL('../support/version-0.1/index.ts', import.meta.url))
  earlier = { ...present, bundle: await bundleWorkflows(path) }
})
beforeEach(() => {
  taskQueue = `upgrade-${randomUUID()}`
  issued = []
})
afterAll(() => present.connection.close())

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

/** An order of two requests, and a request that needs two approvals; who is called Last gives the second. */
const fakes: Partial<Activities> = {
  beginOrder: async () => ({ itemCount: 2, expiresAt: inDays(30) }),
  issueOrderItems: async () => ({ issued: 0, waiting: 2 - issued.length }),
  issueDecided: async ({ certRequestIds }) => {
    issued.push(...certRequestIds)
    return { issued: certRequestIds.length, waiting: 2 - issued.length }
  },
  closeOrder: async () => ({ status: 'COMPLETED' }),
  recordDecision: async ({ principal: { name } }) =>
    name === 'Ada' ? { status: 'PENDING_APPROVAL', orderId: null } : { status: 'APPROVED', orderId: name },
}

/** Works with a worker of this version of the code while `work` goes on. */
const under = async (place: Place, work: (rig: Rig) => Promise<void>): Promise<void> => {
  const rig = await startRig(place, fakes, taskQueue)
  try {
    await work(rig)
  } finally {
    await rig.stop()
  }
}

const startOrder = () => {
  const workflowId = orderWorkflowId(randomUUID())
  return present.client.workflow.start('orderCertificates', { workflowId, taskQueue, args: [workflowId] })
}

const startRequest = () => {
  const certRequestId = randomUUID()
  const args = [{ certRequestId, state: { ...pendingState, dualControl: true }, waitDays: 30 }]
  return present.client.workflow.start('certRequest', {
    workflowId: certRequestWorkflowId(certRequestId),
    taskQueue,
    args,
  })
}

const eventsOf = async (handle: WorkflowHandle) => (await handle.fetchHistory()).events ?? []
const waits = (handle: WorkflowHandle) =>
  until(async () => Boolean((await eventsOf(handle)).at(-1)?.timerStartedEventAttributes))
const isMarked = async (handle: WorkflowHandle) =>
  (await eventsOf(handle)).some(event => event.markerRecordedEventAttributes)
const failedTasks = async (handle: WorkflowHandle) =>
  (await eventsOf(handle)).filter(event => event.workflowTaskFailedEventAttributes).length
const stateOf = async (handle: WorkflowHandle) =>
  (await handle.describe()).typedSearchAttributes.get(searchAttributes.state)

test('runs that wait under version 0.1 are finished by this version, each message once', async () => {
  const order = await startOrder()
  const request = await startRequest()
  await under(earlier, async () => {
    await request.executeUpdate(approve, { args: told(request, 'APPROVE', person('Ada')) })
    await waits(order)
  })
  expect(await isMarked(order)).toBe(false)
  // Nobody works: what is told now waits for the new worker.
  await order.signal(requestsChanged, ['told in between'])
  await under(present, async () => {
    await request.executeUpdate(approve, { args: told(request, 'APPROVE', person(order.workflowId)) })
    expect(await request.result()).toBe('APPROVED')
    expect(await order.result()).toBe('COMPLETED')
  })
  const requestId = request.workflowId.slice(certRequestWorkflowId('').length)
  expect(issued).toEqual(['told in between', requestId])
  expect([await failedTasks(order), await failedTasks(request)]).toEqual([0, 0])
  // Such an order goes on as it began: without the state that orders of this version are found by.
  expect([await isMarked(order), await stateOf(order)]).toEqual([false, undefined])
})

test('an order that waits under this version stands still under version 0.1, and goes on when this one is back', async () => {
  const order = await startOrder()
  await under(present, async () => waits(order))
  expect([await isMarked(order), await stateOf(order)]).toEqual([true, 'WAITING'])
  await order.signal(requestsChanged, ['one', 'two'])
  await under(earlier, async ({ calls }) => {
    await until(async () => (await failedTasks(order)) > 0)
    expect(calls).toEqual([])
  })
  await under(present, async () => expect(await order.result()).toBe('COMPLETED'))
  expect(issued).toEqual(['one', 'two'])
  expect(await stateOf(order)).toBe('COMPLETED')
})
