// Synchronous calls that are issued together: their API dies with them in line, claimed, or running, and their worker dies.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { requestAll } from '../stories/scene.ts'
import { eventually, openInstallation, type Installation } from './installation.ts'
import { issued, report } from './reckoning.ts'

const size = 12
/** Far more than may be under way within some seconds: some are in line whenever the API dies. */
const longLine = 150

let installation: Installation
let ids: string[]

beforeAll(async () => {
  installation = await openInstallation()
}, 120_000)
afterAll(() => installation?.stop(), 60_000)
beforeEach(async () => {
  ids = await newRequests(size)
}, 120_000)

const newRequests = async (count: number): Promise<string[]> =>
  requestAll(installation, await installation.makeScene(count))

const createAll = (wanted: readonly string[]) =>
  wanted.map(id => installation.call('POST', `/api/v1/certificates/cert-requests/${id}`))

const runsOf = async (wanted: readonly string[]): Promise<string[]> => {
  const rows = await installation.em().find(CertRequest, { id: { $in: [...wanted] }, runId: { $ne: null } })
  return rows.map(({ runId }) => runId ?? '')
}

/** All have a run; most share it with others, since two runs at a time take them. */
const allClaimed = async (): Promise<string[]> => {
  const runs = await eventually('all are claimed', async () => {
    const found = await runsOf(ids)
    return found.length === size && [...new Set(found)]
  })
  expect(runs.length).toBeLessThan(size)
  return runs
}

const killApi = async (): Promise<void> => {
  await installation.running.api.kill()
  expect(await installation.running.api.exited).toContain('SIGKILL')
}

const allIssued = () =>
  eventually('all are issued', async () => {
    const open = { id: { $in: ids }, $or: [{ certificateId: null }, { runId: { $ne: null } }] }
    return (await installation.em().count(CertRequest, open)) === 0
  })

/** Each call that is made again hands out its own certificate, once. */
const deliverAll = async (): Promise<void> => {
  const answers = await Promise.all(createAll(ids))
  const certificates = answers.map(({ status, body }) => [status, body.certificate?.certRequestId])
  expect(certificates).toEqual(ids.map(id => [201, id]))
  const again = await Promise.all(createAll(ids))
  expect(again.map(({ body }) => body.apiError)).toEqual(ids.map(() => 'ALREADY_ISSUED'))
}

const tell = async (fault: string): Promise<void> =>
  report({ fault, items: ids.length, kills: 1 }, await issued(installation.em(), ids))

test('the API dies with a group in line: what was not begun is not begun, and a new call issues it', async () => {
  const { worker } = installation.running
  ids = await newRequests(longLine)
  process.kill(worker.pid, 'SIGSTOP')
  const calls = Promise.allSettled(createAll(ids))
  await eventually('the first is claimed', async () => (await runsOf(ids)).length > 0)
  await killApi()
  await calls
  const claimed = await runsOf(ids)
  expect(claimed.length).toBeLessThan(longLine)
  process.kill(worker.pid, 'SIGCONT')
  await installation.startApi()
  await deliverAll()
  await tell('API killed with calls in line')
}, 300_000)

test('the API dies with a group claimed and not started: the reconciler starts it', async () => {
  await installation.running.temporal.kill()
  const calls = Promise.allSettled(createAll(ids))
  await allClaimed()
  await killApi()
  await calls
  await installation.startTemporal()
  await installation.startApi()
  await allIssued()
  await deliverAll()
  await tell('API killed with a group claimed and not started')
}, 300_000)

test('the API dies while a group runs: it is issued, and handed out when it is asked for again', async () => {
  const { worker } = installation.running
  process.kill(worker.pid, 'SIGSTOP')
  const calls = Promise.allSettled(createAll(ids))
  for (const id of await allClaimed())
    await eventually('its run is there', () => installation.client.workflow.getHandle(id).describe())
  await killApi()
  await calls
  process.kill(worker.pid, 'SIGCONT')
  await installation.startApi()
  await allIssued()
  await deliverAll()
  await tell('API killed while a group runs')
}, 300_000)

test('the worker dies at a group: every call has its own certificate', async () => {
  const { worker } = installation.running
  await installation.em().transactional(async em => {
    // The worker comes as far as the storing of a group, and no further.
    await em.execute('lock table certificate in share mode')
    void Promise.allSettled(createAll(ids))
    for (const id of await allClaimed())
      await eventually('the worker is at it', () => installation.workerOf(id, [worker]))
    await worker.kill()
  })
  expect(await worker.exited).toContain('SIGKILL')
  const runs = [...new Set(await runsOf(ids))]
  await installation.startWorker()
  for (const id of runs) await installation.giveUpAttempts(id, worker)
  await allIssued()
  await tell('worker killed at a group')
}, 300_000)
