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

test('every certificate of a batch is issued once, whenever the worker dies', async () => {
  const { em, call, client } = installation
  const { workers, ready, kill: killWorker } = pair as Pair
  const chance = chanceFor(fault)
  const ids = await requestAll(installation, await installation.makeScene(size))
  const { status, body } = await call('POST', '/api/v2/certificates/cert-requests?omitArtifacts=true', ids)
  expect(status).toBe(201)
  const counted = () => em().count(Certificate)
  const moments = Array.from({ length: kills }, () => 1 + Math.floor(chance() * lastKillAt))
  const counts: number[] = []
  for (const [kill, moment] of moments.toSorted((one, other) => one - other).entries()) {
    const worker = workers()[kill % 2] as RunningProcess
    await ready(worker)
    await eventually(`${moment} certificates are there`, async () => (await counted()) >= moment)
    await pause(chance() * longestDelayMs)
    await killWorker(worker, async () => void counts.push(await counted()))
    await installation.giveUpAttempts(body.orderId, worker)
  }
  expect(Math.max(...counts)).toBeLessThan(size)
  const order = await eventually('the order ends', async () => {
    const { body: told } = await call('GET', `/api/v2/orders/${body.orderId}`)
    return told.status !== 'RUNNING' && told
  })
  expect(order).toMatchObject({ status: 'COMPLETED', total: size, issued: size, failed: 0, waiting: 0 })
  await installation.untilMailed()
  report({ fault, items: size, kills: counts.length }, [
    ...(await issued(em(), ids)),
    ...(await mailed(em(), installation.mail)),
    ...(await ran(client, [body.orderId])),
  ])
  expect(await toldOfCertificates(em())).toBe(size)
  expect(installation.mail.mails.length).toBeGreaterThan(0)
}, 540_000)
