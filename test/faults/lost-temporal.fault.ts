// Temporal loses all its data under a worker and an API that go on: what PostgreSQL calls open is started again, and ends once.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { WorkflowNotFoundError } from '@temporalio/client'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { certRequestWorkflowId } from '../../workflows/ids.ts'
import { requestAll } from '../stories/scene.ts'
import { eventually, openInstallation, type Installation } from './installation.ts'
import { approved, issued, ran, report, revoked } from './reckoning.ts'

const fault = 'Temporal lost with its data under orders and approvals'
const size = 10

let installation: Installation

beforeAll(async () => {
  installation = await openInstallation()
}, 120_000)
afterAll(() => installation.stop(), 60_000)

const isRunning = async (id: string): Promise<boolean> =>
  (await installation.client.workflow.getHandle(id).describe()).status.name === 'RUNNING'

const loseTemporal = async (): Promise<void> => {
  await installation.running.temporal.kill()
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(installation.folder, `temporal.db${suffix}`), { force: true })
  await installation.startTemporal()
}

/** The certificates of these requests. */
const certificatesOf = async (ids: readonly string[]): Promise<string[]> =>
  (await installation.em().find(Certificate, { certRequestId: { $in: [...ids] } })).map(({ id }) => id)

test('what waits when Temporal loses its data waits again, and nobody has to start a worker', async () => {
  const { em, running, call, client } = installation
  const asked = await requestAll(installation, await installation.makeScene(size))
  expect((await call('POST', '/api/v1/certificates/cert-requests', asked)).status).toBe(201)
  const guarded = await requestAll(installation, await installation.makeScene(size, { requiresManualApproval: true }))
  const { body } = await call('POST', '/api/v2/certificates/cert-requests?omitArtifacts=true', guarded)
  const runs = [body.orderId, ...guarded.map(certRequestWorkflowId)]
  for (const id of runs) await eventually('it waits', () => isRunning(id))

  const workerPid = running.worker.pid
  await loseTemporal()
  for (const id of runs)
    await expect(client.workflow.getHandle(id).describe()).rejects.toBeInstanceOf(WorkflowNotFoundError)
  for (const id of runs) await eventually('it waits again', () => isRunning(id))
  expect([installation.running.worker.pid, running.worker.ended()]).toEqual([workerPid, false])

  for (const id of guarded) expect((await call('PATCH', `/api/v1/cert-requests/${id}/approve`)).status).toBe(200)
  await eventually('the order is closed', async () => (await em().count(CertificateOrder, { closedDate: null })) === 0)
  const certificateIds = await certificatesOf(asked)
  const wish = { certificateIds, revocationReason: 'SUPERSEDED' }
  expect((await call('POST', '/api/v1/certificates/batch-revoke', wish)).status).toBe(200)
  await eventually('a CRL tells it', async () => (await em().count(Certificate, { crlPending: true })) === 0)
  report({ fault, items: asked.length + guarded.length, kills: 1 }, [
    ...(await issued(em(), [...asked, ...guarded])),
    ...(await approved(em(), guarded)),
    ...(await revoked(em(), certificateIds)),
    ...(await ran(client, runs)),
  ])
}, 540_000)
