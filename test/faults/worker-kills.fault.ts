// Two workers are killed in turn, at twenty moments of a batch of 1,000: every item is there once.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { requestAll } from '../stories/scene.ts'
import { chanceFor } from './chance.ts'
import { eventually, openInstallation, pause, type Installation } from './installation.ts'
import { startPair, type Pair } from './pair.ts'
import { issued, mailed, ran, report, toldOfCertificates } from './reckoning.ts'

const fault = 'worker killed in a batch of 1,000'
const size = 1000
const kills = 20
/** The last kill comes well before the end: so many are under way at once, and stored in one go. */
const lastKillAt = 800
const longestDelayMs = 200
/** So many at the end wait for the last kill. */
const held = 100

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

/** Keeps the last certificates of the batch from being stored while the work goes on: every kill is in the middle of it. */
const withLastHeld = (endEntityIds: readonly string[], work: () => Promise<void>): Promise<void> =>
  installation.em().transactional(async em => {
    await em.execute('set local idle_in_transaction_session_timeout = 0')
    await em.execute('select from end_entity where id = any(?::uuid[]) for update', [`{${endEntityIds.join()}}`])
    await work()
  })

/** Kills the two in turn, each time when so many certificates are there; answers how many were then. */
const killAt = async (orderId: string, moments: readonly number[], chance: () => number): Promise<number[]> => {
  const { workers, ready, kill: killWorker } = pair as Pair
  const counted = () => installation.em().count(Certificate)
  const counts: number[] = []
  for (const [kill, moment] of moments.entries()) {
    const worker = workers()[kill % 2] as RunningProcess
    await ready(worker)
    await eventually(`${moment} certificates are there`, async () => (await counted()) >= moment)
    await pause(chance() * longestDelayMs)
    await killWorker(worker, async () => void counts.push(await counted()))
    await installation.giveUpAttempts(orderId, worker)
  }
  return counts
}

test('every certificate of a batch is issued once, whenever the worker dies', async () => {
  const { em, call, client } = installation
  const chance = chanceFor(fault)
  const scene = await installation.makeScene(size)
  const ids = await requestAll(installation, scene)
  const moments = Array.from({ length: kills }, () => 1 + Math.floor(chance() * lastKillAt))
  let orderId = ''
  await withLastHeld(scene.endEntityIds.slice(-held), async () => {
    const { status, body } = await call('POST', '/api/v2/certificates/cert-requests?omitArtifacts=true', ids)
    expect(status).toBe(201)
    ;({ orderId } = body)
    const counts = await killAt(
      orderId,
      moments.toSorted((one, other) => one - other),
      chance,
    )
    expect(Math.max(...counts)).toBeLessThan(size)
  })
  const order = await eventually('the order ends', async () => {
    const { body: told } = await call('GET', `/api/v2/orders/${orderId}`)
    return told.status !== 'RUNNING' && told
  })
  expect(order).toMatchObject({ status: 'COMPLETED', total: size, issued: size, failed: 0, waiting: 0 })
  await installation.untilMailed()
  report({ fault, items: size, kills }, [
    ...(await issued(em(), ids)),
    ...(await mailed(em(), installation.mail)),
    ...(await ran(client, [orderId])),
  ])
  expect(await toldOfCertificates(em())).toBe(size)
  expect(installation.mail.mails.length).toBeGreaterThan(0)
}, 540_000)
