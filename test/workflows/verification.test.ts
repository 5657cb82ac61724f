// The proof of an e-mail address as a message to the run of a request.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { WorkflowUpdateFailedError } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { Activities } from '../../activities/index.ts'
import { failureIn } from '../../api/kernel/temporal.ts'
import type { RequestState } from '../../domain/lifecycle.ts'
import type { certRequest } from '../../workflows/cert-request.ts'
import { certRequestWorkflowId } from '../../workflows/ids.ts'
import { approve, decline, verifyEmail, type Decided } from '../../workflows/messages.ts'
import { pendingState, person, told, until } from './rig.ts'
import { useRig } from './use-rig.ts'

const { start } = useRig()

const tokenHash = 'ab'.repeat(32)
const unproven: RequestState = { ...pendingState, status: 'REQUIRES_EMAIL_VERIFICATION' }
const leadingTo =
  (status: 'APPROVED' | 'PENDING_APPROVAL'): Activities['recordVerification'] =>
  async () => ({ status, orderId: null })

const open = async (state: Partial<RequestState>, fakes: Partial<Activities>) => {
  const rig = await start(fakes)
  const certRequestId = randomUUID()
  const handle = await rig.client.workflow.start<typeof certRequest>('certRequest', {
    workflowId: certRequestWorkflowId(certRequestId),
    taskQueue: rig.taskQueue,
    args: [{ certRequestId, state: { ...unproven, ...state }, waitDays: 90 }],
  })
  const prove = (message: unknown = { certRequestId, tokenHash }) =>
    handle.executeUpdate('verifyEmail', { args: [message] })
  return { handle, certRequestId, prove, rig }
}
const codeOf = async (update: Promise<unknown>): Promise<string | undefined> => {
  const error = await update.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(WorkflowUpdateFailedError)
  return failureIn(error)?.code
}

test('a proof is recorded before its caller hears of it, and the run of a request without approval ends', async () => {
  const { handle, certRequestId, rig } = await open(
    { requiresManualApproval: false },
    { recordVerification: leadingTo('APPROVED') },
  )
  const outcome = await handle.executeUpdate(verifyEmail, { args: [{ certRequestId, tokenHash }] })
  expect(outcome).toEqual({ status: 'APPROVED', orderId: null })
  const input = { certRequestId, tokenHash, proofId: expect.stringMatching(/^[0-9a-f-]{36}$/) }
  expect(rig.calls).toEqual([{ name: 'recordVerification', input }])
  expect(await handle.result()).toBe('APPROVED')
})

test('with manual approval the same run waits on for the approver', async () => {
  const { handle, prove } = await open(
    {},
    {
      recordVerification: leadingTo('PENDING_APPROVAL'),
      recordDecision: async () => ({ status: 'APPROVED', orderId: null }),
    },
  )
  expect(await codeOf(handle.executeUpdate(approve, { args: told(handle, 'APPROVE') }))).toBe('INVALID_STATE')
  expect(await prove()).toEqual({ status: 'PENDING_APPROVAL', orderId: null })
  expect((await handle.describe()).status.name).toBe('RUNNING')
  await handle.executeUpdate(approve, { args: told(handle, 'APPROVE', person()) })
  expect(await handle.result()).toBe('APPROVED')
})

test('a second proof is refused before it enters history', async () => {
  const { prove, rig } = await open({}, { recordVerification: leadingTo('PENDING_APPROVAL') })
  await prove()
  expect(await codeOf(prove())).toBe('INVALID_STATE')
  expect(rig.calls).toHaveLength(1)
})

test('a proof that the records refuse leaves the request waiting for one', async () => {
  let tries = 0
  const { handle, prove } = await open(
    { requiresManualApproval: false },
    {
      recordVerification: async () => {
        tries += 1
        if (tries === 1) throw ApplicationFailure.nonRetryable('Replaced.', 'INVALID_TOKEN')
        return { status: 'APPROVED', orderId: null }
      },
    },
  )
  expect(await codeOf(prove())).toBe('INVALID_TOKEN')
  expect(await prove()).toMatchObject({ status: 'APPROVED' })
  expect(await handle.result()).toBe('APPROVED')
})

test('an approval that came beside a refused proof leaves the request waiting for one', async () => {
  const [proof, approval] = [Promise.withResolvers<Decided>(), Promise.withResolvers<Decided>()]
  let tries = 0
  const { handle, prove, rig } = await open(
    {},
    {
      recordVerification: async () => {
        tries += 1
        return tries === 1 ? proof.promise : { status: 'PENDING_APPROVAL', orderId: null }
      },
      recordDecision: () => approval.promise,
    },
  )
  const proving = codeOf(prove())
  await until(() => rig.calls.length === 1)
  const approving = codeOf(handle.executeUpdate(approve, { args: told(handle, 'APPROVE') }))
  await until(() => rig.calls.length === 2)
  proof.reject(ApplicationFailure.nonRetryable('The token has expired.', 'INVALID_TOKEN'))
  expect(await proving).toBe('INVALID_TOKEN')
  approval.reject(ApplicationFailure.nonRetryable('The address is not proven.', 'INVALID_STATE'))
  expect(await approving).toBe('INVALID_STATE')
  expect(await prove()).toMatchObject({ status: 'PENDING_APPROVAL' })
  await handle.terminate()
})

test('who declined first counts, and the proof comes too late', async () => {
  const { handle, prove } = await open({}, { recordDecision: async () => ({ status: 'DECLINED', orderId: null }) })
  const declined = handle.executeUpdate(decline, { args: told(handle, 'DECLINE') })
  await declined
  expect(await handle.result()).toBe('DECLINED')
  await expect(prove()).rejects.toThrow()
})

test('a message that names another request, or none, is refused', async () => {
  const { prove, rig } = await open({}, { recordVerification: leadingTo('PENDING_APPROVAL') })
  expect(await codeOf(prove({ certRequestId: randomUUID(), tokenHash }))).toBe('ACCESS_DENIED')
  expect(await codeOf(prove({ tokenHash }))).toBe('INVALID_STATE')
  expect(await codeOf(prove(null))).toBe('INVALID_STATE')
  expect(rig.calls).toEqual([])
})
