// Two workers are killed in turn while the expiry of certificates is recorded: each certificate has its state and one event.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ScheduleOverlapPolicy } from '@temporalio/client'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { expiryRun } from '../../workflows/schedule-starts.ts'
import { requestAll } from '../stories/scene.ts'
import { copyCertificate } from '../support/copies.ts'
import { isInTransaction } from './catching.ts'
import { chanceFor } from './chance.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'
import { startPair, type Pair } from './pair.ts'
import { report } from './reckoning.ts'

const fault = 'worker killed while expiries are recorded'
const size = 20_000
/** So many expire at once; a transaction records a thousand. */
const atOnce = 2000
const kills = 4
const longestDelayMs = 500

let installation: Installation
let pair: Pair | undefined

beforeAll(async () => {
  installation = await openInstallation()
  pair = await startPair(installation)
}, 120_000)
afterAll(async () => {
  await pair?.stop()
  await installation?.stop()
}, 60_000)

/** Certificates of a realm: very many, one that is valid and one that was revoked in time. */
const makeCertificates = async () => {
  const { call, em, orm } = installation
  const scene = await installation.makeScene(3)
  const { body } = await call('POST', '/api/v1/certificates/cert-requests', await requestAll(installation, scene))
  const [copied = '', valid = '', revoked = ''] = body.certificates.map(({ id }: { id: string }) => id)
  await orm.em.fork().transactional(tx => copyCertificate(tx, copied, size - 1))
  const ids = (await em().find(Certificate, { realmId: scene.realmId }, { fields: ['id'] })).map(({ id }) => id)
  const left = new Set([valid, revoked])
  return { realmId: scene.realmId, revoked, ids: ids.filter(id => !left.has(id)) }
}

const eventType = 'CERTIFICATE_EXPIRED' as const
const recorded = () => installation.em().count(AuditEvent, { eventType })

/** The worker that has begun to record, and its run. */
const recording = async () => {
  const { client } = installation
  for await (const { workflowId } of client.workflow.list({
    query: `WorkflowType = "${expiryRun.workflow}" AND ExecutionStatus = "Running"`,
  })) {
    const worker = await installation.workerOf(workflowId, (pair as Pair).workers())
    if (worker) return { worker, workflowId }
  }
  return undefined
}

/** Lets these certificates expire, some at a time, whenever all that have expired are recorded. */
const expiring = (ids: readonly string[]) => {
  const left = [...ids]
  const more = async (count = atOnce): Promise<void> => {
    if ((await recorded()) < ids.length - left.length) return
    const validNotAfter = new Date(Date.now() - 1000)
    await installation.em().nativeUpdate(Certificate, { id: { $in: left.splice(0, count) } }, { validNotAfter })
    await installation.client.schedule.getHandle(expiryRun.id).trigger(ScheduleOverlapPolicy.BUFFER_ONE)
  }
  return { more, left: () => left.length }
}
type Expiring = ReturnType<typeof expiring>

/** What `recording` answers; when it is nothing, more expires. */
const recordingOrMore = async ({ more }: Expiring) => {
  const found = await recording()
  if (!found) await more()
  return found
}

/** Stops a worker in the middle of a transaction that records, at moment after moment. */
const caught = (expiries: Expiring) =>
  eventually('a worker is caught as it records', async () => {
    const found = await recordingOrMore(expiries)
    if (!found) return undefined
    process.kill(found.worker.pid, 'SIGSTOP')
    if ((await isInTransaction(installation.em())) && (await recording())?.worker === found.worker) return found
    process.kill(found.worker.pid, 'SIGCONT')
    return undefined
  })

/** The worker that records at a moment of chance. */
const met = async (expiries: Expiring, chance: () => number) => {
  const found = await eventually('a worker records', () => recordingOrMore(expiries))
  await pause(chance() * longestDelayMs)
  return found
}

test('every expiry is recorded once, whenever the worker dies', async () => {
  const { em, call } = installation
  const { workers, ready, kill: killWorker } = pair as Pair
  const chance = chanceFor(fault)
  const { realmId, ids, revoked } = await makeCertificates()
  await em().nativeUpdate(Certificate, { id: revoked }, { revocationDate: new Date(), validNotAfter: new Date() })
  const expiries = expiring(ids)
  for (let kill = 0; kill < kills; kill += 1) {
    await Promise.all(workers().map(ready))
    const isCaught = kill % 2 === 0
    const { worker, workflowId } = await (isCaught ? caught(expiries) : met(expiries, chance))
    const before = await recorded()
    await killWorker(worker, async () => {
      // What it was at is undone: nobody else has begun it yet.
      if (isCaught) expect(await recorded()).toBe(before)
    })
    await installation.giveUpAttempts(workflowId, worker)
  }
  expect(expiries.left()).toBeGreaterThan(0)
  await eventually('the rest expires', async () => {
    await expiries.more(size)
    return expiries.left() === 0
  })
  await eventually('all is recorded', async () => (await recorded()) >= ids.length)
  await eventually('nothing is recorded any more', async () => (await recording()) === undefined)
  const marked = await em().find(Certificate, { expiryRecorded: true }, { fields: ['id'] })
  const events = await em().find(AuditEvent, { eventType })
  const { body } = await call('GET', `/api/v1/certificates/realms/${realmId}/statistics`)
  expect(body).toMatchObject({ expired: ids.length, revoked: 1, active: 1 })
  report({ fault, items: ids.length, kills }, [
    { what: 'recorded expiry', expected: ids, seen: marked.map(({ id }) => id) },
    { what: 'audit event of expiry', expected: ids, seen: events.map(({ objectId }) => objectId ?? 'nobody') },
  ])
}, 540_000)
