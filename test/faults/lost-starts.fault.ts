// The API dies when the rows are written and no run is started: the reconciler starts each run, once.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { WorkflowNotFoundError } from '@temporalio/client'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder, OrderItem } from '../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { Revocation } from '../../storage/rows/revocation.ts'
import { certRequestWorkflowId, mailWorkflowId } from '../../workflows/ids.ts'
import { requestAll } from '../stories/scene.ts'
import { eventually, openInstallation, type Installation } from './installation.ts'
import { approved, issued, mailed, ran, report, revoked } from './reckoning.ts'

const fault = 'API killed between flush and start'
const size = 20

let installation: Installation

beforeAll(async () => {
  installation = await openInstallation()
}, 120_000)
afterAll(() => installation.stop(), 60_000)

const issueAll = async (ids: string[]): Promise<string[]> => {
  const { status, body } = await installation.call('POST', '/api/v1/certificates/cert-requests', ids)
  expect([status, body.errors]).toEqual([201, []])
  const rows = await installation.em().find(Certificate, { certRequestId: { $in: ids } })
  return rows.map(({ id }) => id)
}

/** What the calls work on; the last member is the body of a call that makes requests which wait. */
const makeWork = async () => {
  const scene = await installation.makeScene(4 * size)
  await installation.em().nativeUpdate(EndEntity, { realmId: scene.realmId }, { email: 'owner@example.org' })
  const requests = await requestAll(installation, scene)
  const certificateIds = await issueAll(requests.slice(0, size))
  const mailedIds = await issueAll(requests.slice(size, size + 5))
  await installation.untilMailed()
  const guarded = await installation.makeScene(size, { requiresManualApproval: true })
  return {
    certificateIds,
    mailedIds,
    ordered: requests.slice(2 * size, 3 * size),
    asked: requests.slice(3 * size),
    guarded,
  }
}

test('what is written is run, though its caller died', async () => {
  const { em, running, call, client, mail } = installation
  const { certificateIds, mailedIds, ordered, asked, guarded } = await makeWork()
  const known = (await em().find(MailGroup, {})).map(({ id }) => id)

  await running.temporal.kill()
  const calls = Promise.allSettled([
    call('POST', '/api/v2/certificates/cert-requests?omitArtifacts=true', ordered),
    call('POST', '/api/v1/certificates/cert-requests', asked),
    call('POST', '/api/v1/certificates/batch-revoke', { certificateIds, revocationReason: 'SUPERSEDED' }),
    ...mailedIds.map(id => call('POST', `/api/v1/certificates/${id}/email`)),
    requestAll(installation, guarded),
  ])
  const waitingOnes = { policyId: guarded.policyId }
  await eventually('all is written', async () => {
    const rows = await Promise.all([
      em().count(OrderItem, { certRequestId: { $in: ordered } }),
      em().count(CertRequest, { id: { $in: asked }, runId: { $ne: null } }),
      em().count(Certificate, { id: { $in: certificateIds }, revocationRunId: { $ne: null } }),
      em().count(CertRequest, waitingOnes),
      em().count(MailGroup),
    ])
    return JSON.stringify(rows) === JSON.stringify([size, size, size, size, known.length + mailedIds.length])
  })
  await running.api.kill()
  expect(await running.api.exited).toContain('SIGKILL')
  await calls
  await installation.startTemporal()

  const waiting = (await em().find(CertRequest, waitingOnes)).map(({ id }) => id)
  const claimed = await em().find(CertRequest, { id: { $in: asked } })
  const [order] = await em().find(CertificateOrder, {})
  const [revocation] = await em().find(Revocation, {})
  const groups = await em().find(MailGroup, { id: { $nin: known } })
  const runs = [
    order?.id ?? '',
    revocation?.id ?? '',
    claimed[0]?.runId ?? '',
    ...waiting.map(certRequestWorkflowId),
    ...groups.map(({ id }) => mailWorkflowId(id)),
  ]
  for (const id of runs)
    await expect(client.workflow.getHandle(id).describe()).rejects.toBeInstanceOf(WorkflowNotFoundError)

  await installation.startApi()
  const isRunning = async (id: string) => (await client.workflow.getHandle(id).describe()).status.name === 'RUNNING'
  for (const id of waiting) await eventually('its run waits', () => isRunning(certRequestWorkflowId(id)))
  for (const id of waiting) expect((await call('PATCH', `/api/v1/cert-requests/${id}/approve`)).status).toBe(200)
  await eventually('all is done', async () => {
    const open = await Promise.all([
      em().count(CertificateOrder, { status: 'RUNNING' }),
      em().count(CertRequest, { id: { $in: asked }, certificateId: null }),
      em().count(Certificate, { id: { $in: certificateIds }, crlPending: true }),
      em().count(Certificate, { id: { $in: certificateIds }, revocationDate: null }),
      em().count(Revocation, { closedDate: null }),
      em().count(Mail, { status: 'QUEUED' }),
    ])
    return open.every(count => count === 0)
  })
  report(
    {
      fault,
      items: ordered.length + asked.length + certificateIds.length + mailedIds.length + waiting.length,
      kills: 1,
    },
    [
      ...(await issued(em(), [...ordered, ...asked])),
      ...(await approved(em(), waiting)),
      ...(await revoked(em(), certificateIds)),
      ...(await mailed(em(), mail)),
      ...(await ran(client, runs)),
    ],
  )
}, 540_000)
