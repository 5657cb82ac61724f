// Temporal and PostgreSQL are killed while an order, approvals and a revocation are under way: each comes to its end once.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder, OrderItem } from '../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { certRequestWorkflowId } from '../../workflows/ids.ts'
import { requestAll } from '../stories/scene.ts'
import { chanceFor } from './chance.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'
import { approved, issued, mailed, ran, report, revoked, type Tally } from './reckoning.ts'

const sizes = { batch: 200, approvals: 20, revocations: 200 }
const kills = 3
const longestPauseMs = 1500

let installation: Installation

beforeAll(async () => {
  installation = await openInstallation()
}, 120_000)
afterAll(() => installation.stop(), 60_000)

/** Asks until it is so, as a client does whose call a dead server has left without an answer. */
const insist = (what: string, ask: () => Promise<unknown>, isSo: () => Promise<boolean>): Promise<true> =>
  eventually(what, async () => {
    await ask().catch(() => {})
    return isSo()
  })

const orderOf = (ids: string[]) => installation.em().findOne(OrderItem, { certRequestId: { $in: ids } })

/** Orders certificates, whatever happens meanwhile. */
const order = async (ids: string[]): Promise<void> => {
  const path = '/api/v2/certificates/cert-requests'
  const ask = () =>
    ids.length === 1
      ? installation.call('POST', `${path}/${ids[0]}`)
      : installation.call('POST', `${path}?omitArtifacts=true`, ids)
  await insist('the order is placed', ask, async () => (await orderOf(ids)) !== null)
}

/** Approves a request, whatever happens meanwhile. */
const approve = (id: string): Promise<true> =>
  insist(
    'the approval is recorded',
    () => installation.call('PATCH', `/api/v1/cert-requests/${id}/approve`),
    async () => (await installation.em().findOneOrFail(CertRequest, id)).userResponses.length > 0,
  )

/** Revokes certificates, whatever happens meanwhile. */
const revoke = (certificateIds: string[]): Promise<true> => {
  const open = { id: { $in: certificateIds }, revocationDate: null }
  return insist(
    'all are revoked',
    () =>
      installation.call('POST', '/api/v1/certificates/batch-revoke', {
        certificateIds,
        revocationReason: 'SUPERSEDED',
      }),
    async () => (await installation.em().count(Certificate, open)) === 0,
  )
}

const issuedFor = async (ids: string[]): Promise<string[]> => {
  await order(ids)
  await eventually('all are issued', async () => {
    const certificates = await installation.em().count(Certificate, { certRequestId: { $in: ids } })
    return certificates === ids.length
  })
  const rows = await installation.em().find(Certificate, { certRequestId: { $in: ids } })
  return rows.map(({ id }) => id)
}

/** What the fault works on: requests for a batch, requests that wait with an order each, and certificates. */
const makeWork = async () => {
  const batch = await requestAll(installation, await installation.makeScene(sizes.batch))
  const guarded = await installation.makeScene(sizes.approvals, { requiresManualApproval: true })
  const waiting = await requestAll(installation, guarded)
  const used = await requestAll(installation, await installation.makeScene(sizes.revocations))
  const certificateIds = await issuedFor(used)
  for (const id of waiting) await order([id])
  return { batch, waiting, certificateIds, used }
}

const placed = async (ids: string[]): Promise<string[]> => {
  const items = await installation.em().find(OrderItem, { certRequestId: { $in: ids } })
  return [...new Set(items.map(({ orderId }) => orderId))]
}

const untilClosed = (orderIds: string[]): Promise<true> =>
  eventually('the orders are completed', async () => {
    const completed = { id: { $in: orderIds }, status: 'COMPLETED' as const }
    return (await installation.em().count(CertificateOrder, completed)) === orderIds.length
  })

const untilTold = (certificateIds: string[]): Promise<true> =>
  eventually('a CRL tells all', async () => {
    const untold = { id: { $in: certificateIds }, crlPending: true }
    return (await installation.em().count(Certificate, untold)) === 0
  })

test.each([
  ['Temporal', 'temporal', () => installation.startTemporal()],
  ['PostgreSQL', 'postgres', () => installation.startPostgres()],
] as const)(
  '%s may die',
  async (name, part, startAgain) => {
    const { em, running, client, mail } = installation
    const fault = `${name} killed during orders, approvals and a revocation`
    const chance = chanceFor(fault)
    const { batch, waiting, certificateIds, used } = await makeWork()
    const works = Promise.all([order(batch), revoke(certificateIds), ...waiting.map(approve)])
    for (let kill = 0; kill < kills; kill += 1) {
      await pause(chance() * longestPauseMs)
      await running[part].kill()
      expect(await running[part].exited).toContain('SIGKILL')
      await pause(chance() * longestPauseMs)
      await startAgain()
      await installation.ready()
    }
    await works
    expect([running.worker.ended(), running.api.ended()]).toEqual([false, false])
    const orderIds = await placed([...batch, ...waiting, ...used])
    await untilClosed(orderIds)
    await untilTold(certificateIds)
    await installation.untilMailed()
    const runs = [...orderIds, ...waiting.map(certRequestWorkflowId)]
    const tallies: Tally[] = [
      ...(await issued(em(), [...batch, ...waiting, ...used])),
      ...(await approved(em(), waiting)),
      ...(await revoked(em(), certificateIds)),
      ...(await mailed(em(), mail)),
      ...(await ran(client, runs)),
    ]
    report({ fault, items: batch.length + waiting.length + certificateIds.length, kills }, tallies)
  },
  540_000,
)
