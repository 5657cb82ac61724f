// Approving and declining as messages to the run of a request.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import {
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  type WorkflowHandle,
} from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { Activities } from '../../activities/index.ts'
import type { RequestState } from '../../domain/lifecycle.ts'
import type { certRequest } from '../../workflows/cert-request.ts'
import { certRequestWorkflowId, orderWorkflowId } from '../../workflows/ids.ts'
import { approve, decline, type Decided } from '../../workflows/messages.ts'
import type { orderCertificates } from '../../workflows/order-certificates.ts'
import { pendingState, person, told, until } from './rig.ts'
import { useRig } from './use-rig.ts'

const { start } = useRig()

type Record = Activities['recordDecision']

const approved: Record = async () => ({ status: 'APPROVED', orderId: null })
const open = async (recordDecision: Record, state: Partial<RequestState> = {}) => {
  const rig = await start({ recordDecision })
  const certRequestId = randomUUID()
  const handle = await rig.client.workflow.start<typeof certRequest>('certRequest', {
    workflowId: certRequestWorkflowId(certRequestId),
    taskQueue: rig.taskQueue,
    args: [{ certRequestId, state: { ...pendingState, ...state }, waitDays: 90 }],
  })
  return { handle, certRequestId, rig }
}
const refusalOf = async (update: Promise<unknown>) => {
  const error = await update.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(WorkflowUpdateFailedError)
  return (error as WorkflowUpdateFailedError).cause
}
const eventTypes = async (handle: WorkflowHandle) =>
  ((await handle.fetchHistory()).events ?? []).map(event =>
    Object.keys(event).find(key => key.endsWith('EventAttributes')),
  )

test('an approval is recorded before its caller hears the verdict, and the run ends', async () => {
  const { handle, certRequestId, rig } = await open(approved)
  const ada = person('Ada')
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', ada) })).toEqual({
    status: 'APPROVED',
    orderId: null,
  })
  const input = {
    certRequestId,
    action: 'APPROVE',
    principal: ada,
    decisionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  }
  expect(rig.calls).toEqual([{ name: 'recordDecision', input }])
  expect(await handle.result()).toBe('APPROVED')
})

test('a refusal is recorded, and the run ends', async () => {
  const { handle, rig } = await open(async () => ({ status: 'DECLINED', orderId: null }))
  expect(await handle.executeUpdate(decline, { args: told(handle, 'DECLINE', person()) })).toMatchObject({
    status: 'DECLINED',
  })
  expect(rig.calls).toMatchObject([{ input: { action: 'DECLINE' } }])
  expect(await handle.result()).toBe('DECLINED')
})

const creator = person('creator')
const byCreator = { creatorId: creator.id }

test.each([
  ['where the requester may not approve', { ...byCreator, requesterMayApprove: false }, 'SELF_APPROVAL_NOT_ALLOWED'],
  ['under dual control', { ...byCreator, dualControl: true }, 'SELF_APPROVAL_NOT_ALLOWED'],
  ['twice under dual control', { dualControl: true, approverIds: [creator.id ?? ''] }, 'ALREADY_APPROVED_BY_PRINCIPAL'],
  ['an archived request', { archived: true }, 'ENTITY_ARCHIVED'],
  ['before the address is verified', { status: 'REQUIRES_EMAIL_VERIFICATION' as const }, 'INVALID_STATE'],
])('approving %s is refused before it enters history', async (_, state, code) => {
  const { handle, rig } = await open(approved, state)
  const cause = await refusalOf(handle.executeUpdate(approve, { args: told(handle, 'APPROVE', creator) }))
  expect(cause).toMatchObject({ type: code, nonRetryable: true })
  expect(rig.calls).toEqual([])
  expect(await eventTypes(handle)).not.toContain('workflowExecutionUpdateAcceptedEventAttributes')
  await handle.terminate()
})

test('the requester may approve where the policy says so', async () => {
  const { handle } = await open(approved, byCreator)
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', creator) })).toMatchObject({
    status: 'APPROVED',
  })
})

test('the creator may decline', async () => {
  const { handle } = await open(async () => ({ status: 'DECLINED', orderId: null }), {
    ...byCreator,
    requesterMayApprove: false,
  })
  expect(await handle.executeUpdate(decline, { args: told(handle, 'DECLINE', creator) })).toMatchObject({
    status: 'DECLINED',
  })
})

test('under dual control the second principal decides', async () => {
  const { handle, rig } = await open(
    async ({ principal }) => ({ status: principal.name === 'Ada' ? 'PENDING_APPROVAL' : 'APPROVED', orderId: null }),
    { dualControl: true },
  )
  const [ada, bob] = [person('Ada'), person('Bob')]
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', ada) })).toMatchObject({
    status: 'PENDING_APPROVAL',
  })
  const cause = await refusalOf(handle.executeUpdate(approve, { args: told(handle, 'APPROVE', ada) }))
  expect(cause).toMatchObject({ type: 'ALREADY_APPROVED_BY_PRINCIPAL' })
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', bob) })).toMatchObject({
    status: 'APPROVED',
  })
  expect(await handle.result()).toBe('APPROVED')
  expect(rig.calls).toHaveLength(2)
})

test('a second decision is refused while the first is being recorded', async () => {
  const written = Promise.withResolvers<Decided>()
  const { handle, rig } = await open(() => written.promise)
  const first = handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Ada')) })
  await until(() => rig.calls.length === 1)
  for (const [update, action] of [
    [approve, 'APPROVE'],
    [decline, 'DECLINE'],
  ] as const) {
    const cause = await refusalOf(handle.executeUpdate(update, { args: told(handle, action, person('Bob')) }))
    expect(cause).toMatchObject({ type: 'INVALID_STATE' })
  }
  written.resolve({ status: 'APPROVED', orderId: null })
  expect(await first).toMatchObject({ status: 'APPROVED' })
  expect(await handle.result()).toBe('APPROVED')
  expect(rig.calls).toHaveLength(1)
})

test('a decision that the records refuse fails with its code, and the request stays open', async () => {
  let refuse = true
  const { handle } = await open(async () => {
    if (!refuse) return { status: 'APPROVED', orderId: null }
    refuse = false
    throw ApplicationFailure.nonRetryable('The end entity is archived.', 'ENTITY_ARCHIVED')
  })
  const error = await refusalOf(handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Ada')) }))
  expect(error?.cause).toMatchObject({ type: 'ENTITY_ARCHIVED' })
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Bob')) })).toMatchObject({
    status: 'APPROVED',
  })
})

test('a decision outlives failures of the database', async () => {
  let failures = 3
  const { handle, rig } = await open(async input => {
    if (failures-- > 0) throw new Error('no connection')
    return approved(input)
  })
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person()) })).toMatchObject({
    status: 'APPROVED',
  })
  expect(rig.calls).toHaveLength(4)
})

test('after its run has ended a request is decided by a new run, and a decided one is refused', async () => {
  const { handle, certRequestId, rig } = await open(approved)
  await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Ada')) })
  await handle.result()
  await expect(handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person('Bob')) })).rejects.toBeInstanceOf(
    WorkflowNotFoundError,
  )
  const again = (state: RequestState) =>
    rig.client.workflow.executeUpdateWithStart(approve, {
      args: told(handle, 'APPROVE', person('Bob')),
      startWorkflowOperation: new WithStartWorkflowOperation<typeof certRequest>('certRequest', {
        workflowId: handle.workflowId,
        taskQueue: rig.taskQueue,
        args: [{ certRequestId, state, waitDays: 90 }],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    })
  const cause = await refusalOf(again({ ...pendingState, status: 'APPROVED' }))
  expect(cause).toMatchObject({ type: 'INVALID_STATE' })
  expect(rig.calls).toHaveLength(1)
  expect(await again(pendingState)).toMatchObject({ status: 'APPROVED' })
  expect(rig.calls).toHaveLength(2)
})

test('a run of a request that is decided already ends at once', async () => {
  const { handle } = await open(approved, { status: 'DECLINED' })
  expect(await handle.result()).toBe('DECLINED')
})

test('the decision reaches the order that waits for it', async () => {
  const orderId = orderWorkflowId(randomUUID())
  const rig = await start({
    recordDecision: async () => ({ status: 'APPROVED', orderId }),
    beginOrder: async () => ({ itemCount: 1, expiresAt: new Date(Date.now() + 86_400_000).toISOString() }),
    issueOrderItems: async () => ({ issued: 0, waiting: 1 }),
    issueDecided: async () => ({ issued: 1, waiting: 0 }),
    closeOrder: async () => ({ status: 'COMPLETED' }),
  })
  const { client, taskQueue } = rig
  const order = await client.workflow.start<typeof orderCertificates>('orderCertificates', {
    workflowId: orderId,
    taskQueue,
    args: [orderId],
  })
  await until(() => rig.of('issueOrderItems').length === 1)
  const certRequestId = randomUUID()
  const handle = await client.workflow.start<typeof certRequest>('certRequest', {
    workflowId: certRequestWorkflowId(certRequestId),
    taskQueue,
    args: [{ certRequestId, state: pendingState, waitDays: 90 }],
  })
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person()) })).toEqual({
    status: 'APPROVED',
    orderId,
  })
  expect(await order.result()).toBe('COMPLETED')
  expect(rig.of('issueDecided')).toMatchObject([{ input: { orderId, certRequestIds: [certRequestId] } }])
})

test('a message that means another request, another action or nothing at all is refused before it enters history', async () => {
  const { handle, certRequestId, rig } = await open(approved)
  const by = person()
  const messages: [unknown, string][] = [
    [{ ...by, certRequestId: randomUUID(), action: 'APPROVE' }, 'ACCESS_DENIED'],
    [{ ...by, certRequestId, action: 'DECLINE' }, 'ACCESS_DENIED'],
    [{ ...by, certRequestId }, 'ACCESS_DENIED'],
    // As an API of version 0.1 sends it, which may still be running beside this worker.
    [by, 'INVALID_STATE'],
    [null, 'INVALID_STATE'],
    ['text', 'INVALID_STATE'],
  ]
  for (const [message, code] of messages) {
    const cause = await refusalOf(handle.executeUpdate('approve', { args: [message] }))
    expect(cause).toMatchObject({ type: code, nonRetryable: true })
  }
  expect(await eventTypes(handle)).not.toContain('workflowExecutionUpdateAcceptedEventAttributes')
  expect(rig.calls).toEqual([])
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', by) })).toMatchObject({
    status: 'APPROVED',
  })
})

test('a decision stands although its order is not running', async () => {
  const { handle } = await open(async () => ({ status: 'APPROVED', orderId: orderWorkflowId(randomUUID()) }))
  expect(await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person()) })).toMatchObject({
    status: 'APPROVED',
  })
  expect(await handle.result()).toBe('APPROVED')
})

const refused = (): ApplicationFailure => ApplicationFailure.nonRetryable('The right is gone.', 'ACCESS_DENIED')

test('an approval that the records refuse takes nothing back that was recorded beside it', async () => {
  const [ada, bob, eve] = [person('Ada'), person('Bob'), person('Eve')]
  const ends = new Map([ada, bob, eve].map(({ id }) => [id, Promise.withResolvers<Decided>()]))
  const { handle, rig } = await open(async ({ principal }) => ends.get(principal.id)!.promise, { dualControl: true })
  const approving = async (by: typeof ada) => {
    const known = rig.calls.length
    const update = handle.executeUpdate(approve, { args: told(handle, 'APPROVE', by) })
    await until(() => rig.calls.length > known)
    return update
  }
  // Ada loses the right while Bob approves: his is the first approval that counts, and Eve's the second.
  const first = approving(ada)
  await until(() => rig.calls.length === 1)
  const second = approving(bob)
  await until(() => rig.calls.length === 2)
  ends.get(ada.id)!.reject(refused())
  expect((await refusalOf(first))?.cause).toMatchObject({ type: 'ACCESS_DENIED' })
  ends.get(bob.id)!.resolve({ status: 'PENDING_APPROVAL', orderId: null })
  expect(await second).toMatchObject({ status: 'PENDING_APPROVAL' })
  ends.get(eve.id)!.resolve({ status: 'APPROVED', orderId: null })
  expect(await approving(eve)).toMatchObject({ status: 'APPROVED' })
  expect(await handle.result()).toBe('APPROVED')
})
