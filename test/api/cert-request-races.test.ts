// Equal decisions of one principal at the same moment: one counts, whatever the number and whoever is faster.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { certRequestWorkflowId } from '../../workflows/ids.ts'
import { factsOf, refusalOf, requestRow, statusesOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let single: Scene
let dual: Scene

beforeAll(async () => {
  service = await startService()
  single = await makeScene(service, { requiresManualApproval: true })
  dual = await makeScene(service, { requiresManualApproval: true, dualControl: true })
})
afterAll(() => service.stop())

const approverOf = ({ policyId }: Scene) => service.user({ POLICY: { [policyId]: ['CERTREQS_APPROVE'] } })
const oneOf = (count: number) => [200, ...Array.from({ length: count - 1 }, () => 409)]
const repeatedly = async (times: number, work: () => Promise<void>) => {
  for (let round = 0; round < times; round++) await work()
}

test.each(['decline', 'approve'] as const)(
  'of six equal calls to %s exactly one is 200, the others are 409',
  async verb => {
    const approver = await approverOf(single)
    await repeatedly(5, async () => {
      const id = await single.newRequest()
      const calls = Array.from({ length: 6 }, () => approver.patch(`/api/v1/cert-requests/${id}/${verb}`))
      const replies = await Promise.all(calls)
      expect(statusesOf(replies)).toEqual(oneOf(6))
      for (const reply of replies) if (reply.status === 409) expect(refusalOf(reply)).toEqual([409, 'INVALID_STATE'])
      expect((await requestRow(service, id)).userResponses).toHaveLength(1)
      expect(await factsOf(service, id)).toHaveLength(2)
    })
  },
)

test('of many equal calls, more than a run may have under way, exactly one is 200', async () => {
  const [approver, id] = [await approverOf(single), await single.newRequest()]
  const calls = Array.from({ length: 24 }, () => approver.patch(`/api/v1/cert-requests/${id}/decline`))
  expect(statusesOf(await Promise.all(calls))).toEqual(oneOf(24))
})

test('of six equal first approvals under dual control one counts, and a second principal still decides', async () => {
  const [first, second, id] = [await approverOf(dual), await approverOf(dual), await dual.newRequest()]
  const approve = `/api/v1/cert-requests/${id}/approve`
  const replies = await Promise.all(Array.from({ length: 6 }, () => first.patch(approve)))
  expect(statusesOf(replies)).toEqual(oneOf(6))
  expect((await second.patch(approve)).body.certRequestStatus).toBe('APPROVED')
  expect((await requestRow(service, id)).userResponses).toHaveLength(2)
})

test('calls that begin before a run has ended and arrive after it are refused by the records', async () => {
  const [approver, id] = [await approverOf(single), await single.newRequest()]
  // Each call finds the request open and the run gone, as if all had read before the first was recorded.
  await service.client.workflow.getHandle(certRequestWorkflowId(id)).terminate()
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => approver.patch(`/api/v1/cert-requests/${id}/decline`)),
  )
  expect(statusesOf(replies)).toEqual(oneOf(6))
  expect(await factsOf(service, id)).toEqual(['CERT_REQUEST_CREATED', 'CERT_REQUEST_DECLINED'])
})
