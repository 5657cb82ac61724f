// Operators find a run by what they know: realm, policy, request, kind; and read in one line what it is about.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import proto from '@temporalio/proto'
import type { RequestState } from '../../domain/lifecycle.ts'
import { EncryptionCodec } from '../../worker/payload-codec.ts'
import type { LocatedRequest } from '../../workflows/run-facts.ts'
import { certRequestRun, issueRun, orderRun, startOptions, type Start } from '../../workflows/starts.ts'
import { certRequestWorkflowId, issueWorkflowId, orderWorkflowId } from '../../workflows/ids.ts'
import { refusalOf, until } from '../support/issuing.ts'
import { detailsOf, makeScene, startService, type Scene, type Service } from '../support/service.ts'
import { historyToText } from './history-json.ts'
import { pendingState } from './rig.ts'

let service: Service
let scene: Scene

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { requiresManualApproval: true })
})
afterAll(() => service.stop())

const found = async (query: string): Promise<string[]> => {
  const ids: string[] = []
  for await (const { workflowId } of service.client.workflow.list({ query })) ids.push(workflowId)
  return ids.toSorted()
}
const finds = (query: string, ids: string[]) =>
  until(
    `${query} finds ${ids.length}`,
    async () => JSON.stringify(await found(query)) === JSON.stringify(ids.toSorted()),
  )
const summaryOf = async (workflowId: string) =>
  (await service.client.workflow.getHandle(workflowId).describe()).staticSummary()
const policyName = async () => {
  const { body } = await scene.owner.get(`/api/v1/policies/${scene.policyId}`)
  return body.name as string
}

test('the runs of a request are found by its id, realm, policy and kind, and say what they are about', async () => {
  const endEntityId = await scene.newEndEntity('very-secret-host.example.org')
  const id = await scene.newRequest({ endEntityId })
  const { body } = await scene.owner.post(`/api/v2/certificates/cert-requests/${id}`)
  const runs = [certRequestWorkflowId(id), body.orderId as string]
  await finds(`CertRequestIds = "${id}"`, runs)
  await finds(`CertRealmId = "${scene.realmId}" AND CertKind = "ORDER"`, [body.orderId])
  await finds(`CertPolicyId = "${scene.policyId}"`, runs)
  // The record leads to its run as well.
  expect((await scene.owner.get(`/api/v1/cert-requests/${id}`)).body.orderId).toBe(body.orderId)
  expect(await summaryOf(runs[0] ?? '')).toBe(`decide on 1 request of policy ${await policyName()}`)
  expect(await summaryOf(runs[1] ?? '')).toBe(`order 1 request of policy ${await policyName()}`)
  for (const run of runs) {
    const history = historyToText(await service.client.workflow.getHandle(run).fetchHistory())
    expect(history).not.toContain('very-secret-host')
    expect(history).not.toContain(await policyName())
  }
})

const tells = (workflowId: string, what: string) =>
  until(`${workflowId} tells ${what}`, async () => (await detailsOf(service, workflowId)).includes(what))

test('the run of an order tells the whole way of its request: asked, waiting, decided, issued', async () => {
  const approver = await service.user({ POLICY: { [scene.policyId]: ['CERTREQS_APPROVE'] } })
  const id = await scene.newRequest()
  const { body } = await scene.owner.post(`/api/v2/certificates/cert-requests/${id}`)
  await tells(body.orderId, `Certificate request ${id}: **waits for approval, 0 of 1 given**`)
  expect(await detailsOf(service, body.orderId)).toContain(`requested by USER ${scene.owner.id}`)
  const approved = await approver.patch(`/api/v1/cert-requests/${id}/approve`)
  expect(refusalOf(approved)).toEqual([200, undefined])
  await tells(body.orderId, 'COMPLETED: 1 of 1 issued')
  const { certificateId } = (await scene.owner.get(`/api/v1/cert-requests/${id}`)).body
  const told = await detailsOf(service, body.orderId)
  expect(told).toMatch(
    new RegExp(`requested by .*\\n.* approved by USER ${approver.id}\\n.* issued: certificate ${certificateId}$`),
  )
})

test('a large order says its number, and is found by the first of its requests', async () => {
  const ids: string[] = []
  for (let count = 0; count < 45; count++) ids.push(await scene.newRequest())
  const { body } = await scene.owner.post('/api/v2/certificates/cert-requests', ids)
  expect(await summaryOf(body.orderId)).toBe(`order 45 requests of policy ${await policyName()}`)
  await finds(`CertRequestIds = "${ids[39]}" AND CertKind = "ORDER"`, [body.orderId])
  expect(await found(`CertRequestIds = "${ids[40]}" AND CertKind = "ORDER"`)).toEqual([])
})

test('a policy with the longest name, in letters of four octets, hinders no run', async () => {
  const name = '\u{1F482}'.repeat(120)
  const renamed = await scene.owner.patch(`/api/v1/policies/${scene.policyId}`, { name })
  expect([renamed.status, refusalOf(renamed)]).toEqual([200, [200, undefined]])
  const id = await scene.newRequest()
  expect(await summaryOf(certRequestWorkflowId(id))).toBe(`decide on 1 request of policy ${'\u{1F482}'.repeat(30)}…`)
})

const located = (count: number): LocatedRequest[] =>
  Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    realmId: randomUUID(),
    policyId: randomUUID(),
    policyName: '\u{1F482}'.repeat(40 + (index % 2)),
  }))

/** What Temporal takes: 400 octets of summary, 2 KB of one search attribute. */
test('summary and search attributes of the largest runs fit, under the longest name of a key', async () => {
  const codec = new EncryptionCodec(new Map([['k'.repeat(40), Buffer.alloc(32)]]))
  const state: RequestState = pendingState
  const [one] = located(1)
  if (!one) throw new Error('There is no request.')
  const starts: Start[] = [
    certRequestRun({ ...one, state }, 90) as Start,
    issueRun(issueWorkflowId(randomUUID()), located(1000)) as Start,
    issueRun(issueWorkflowId(randomUUID()), [one]) as Start,
    orderRun({ id: orderWorkflowId(randomUUID()), count: 10_000, requests: [one] }) as Start,
  ]
  for (const start of starts) {
    const { staticSummary, typedSearchAttributes, workflowId } = startOptions(start, 'queue')
    const data = Buffer.from(JSON.stringify(staticSummary))
    const context = { type: 'workflow', namespace: 'certwright', workflowId } as const
    const [sealed] = await codec.encode([{ metadata: { encoding: Buffer.from('json/plain') }, data }], context)
    expect(proto.temporal.api.common.v1.Payload.encode(sealed ?? {}).finish().length).toBeLessThan(400)
    for (const { value } of typedSearchAttributes) expect(JSON.stringify(value).length).toBeLessThan(2000)
  }
})
