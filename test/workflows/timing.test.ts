// What takes days, on a server that skips time.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { WithStartWorkflowOperation, type WorkflowHandle } from '@temporalio/client'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { hashOfToken, makeTokens } from '../../storage/verification-tokens.ts'
import type { certRequest } from '../../workflows/cert-request.ts'
import { certRequestWorkflowId, orderWorkflowId, providerWorkflowId } from '../../workflows/ids.ts'
import { approve, rolloverChanged, verifyEmail } from '../../workflows/messages.ts'
import type { rollOver } from '../../workflows/rollover.ts'
import type { orderCertificates } from '../../workflows/order-certificates.ts'
import { makeScene, newRequest, openFixture } from '../activities/fixture.ts'
import { report } from '../faults/reckoning.ts'
import { pendingState, person, told, until, type Rig } from './rig.ts'
import { startTimeSkipping, type TimeSkipping } from './time-skipping.ts'
import { useRig } from './use-rig.ts'

const day = 24 * 3_600_000

let env: TimeSkipping['env']

const { start, stop } = useRig(async () => {
  const skipping = await startTimeSkipping()
  ;({ env } = skipping)
  return skipping
})

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
  const closed = rig.of('closeOrder').map(({ input }) => input.orderId as string)
  report({ fault: 'order past its 90 days', items: 1, kills: 0 }, [
    { what: 'end of the order', expected: [handle.workflowId], seen: closed },
  ])
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
  report({ fault: 'wait past its 90 days, then an approval', items: 1, kills: 0 }, [
    { what: 'approval', expected: [certRequestId], seen: calls.map(call => call.input.certRequestId as string) },
  ])
  expect(await client.workflow.getHandle(workflowId).result()).toBe('APPROVED')
})

test('a token that is 30 days old proves nothing any more, and the run waits on for a new one', async () => {
  let clock = new Date(await env.currentTimeMs())
  const fixture = await openFixture({ clock: () => clock })
  const em = fixture.em()
  const unproven = { status: 'REQUIRES_EMAIL_VERIFICATION', runId: null } as const
  const { id: certRequestId } = await newRequest(em, await makeScene(fixture.orm), unproven)
  const lifetimeHours = 30 * 24
  const newProof = async () => {
    const [made] = await makeTokens(em, [{ certRequestId, email: 'a@example.org' }], { now: clock, lifetimeHours })
    return { certRequestId, tokenHash: hashOfToken(made?.token ?? '') }
  }
  const { client, taskQueue } = await start(fixture.activities)
  const state = { ...pendingState, status: unproven.status, requiresManualApproval: false }
  const workflowId = certRequestWorkflowId(certRequestId)
  const args: Parameters<typeof certRequest> = [{ certRequestId, state, waitDays: 90 }]
  const handle = await client.workflow.start<typeof certRequest>('certRequest', { workflowId, taskQueue, args })
  const late = await newProof()
  await waits(handle)
  await env.sleep('30 days')
  clock = new Date(await env.currentTimeMs())
  await expect(handle.executeUpdate(verifyEmail, { args: [late] })).rejects.toThrow()
  expect(await em.fork().count(AuditEvent, { objectId: certRequestId })).toBe(0)
  expect((await handle.describe()).status.name).toBe('RUNNING')
  await handle.executeUpdate(verifyEmail, { args: [await newProof()] })
  const events = await em.fork().find(AuditEvent, { eventType: 'CERT_REQUEST_EMAIL_VERIFIED' })
  report({ fault: 'token past its 30 days, then a new one', items: 1, kills: 0 }, [
    { what: 'proof', expected: [certRequestId], seen: events.map(({ objectId }) => objectId ?? 'nobody') },
  ])
  await stop()
  await fixture.orm.close()
})

test('the next CA of a provider waits for its date, is looked at each day, and a change is seen at once', async () => {
  let takeOver: number | null = (await env.currentTimeMs()) + 100 * day
  const rig = await start({
    advanceRollover: async () => {
      const isDue = takeOver === null || (await env.currentTimeMs()) >= takeOver
      return isDue
        ? { nextCaId: null, takeOverDate: null }
        : { nextCaId: 'next', takeOverDate: new Date(takeOver ?? 0).toISOString() }
    },
  })
  const providerId = randomUUID()
  const begin = async () => {
    const workflowId = providerWorkflowId('rollover', providerId)
    const options = { workflowId, taskQueue: rig.taskQueue, args: [providerId] as [string] }
    const handle = await rig.client.workflow.start<typeof rollOver>('rollOver', options)
    await waits(handle)
    return handle
  }
  const first = await begin()
  for (let days = 1; days < 100; days += 1) {
    await env.sleep('1 day')
    await waits(first)
  }
  expect(rig.of('advanceRollover')).toHaveLength(100)
  await env.sleep('1 day')
  await first.result()
  takeOver = (await env.currentTimeMs()) + day
  const second = await begin()
  takeOver = null
  await second.executeUpdate(rolloverChanged)
  await second.result()
})
