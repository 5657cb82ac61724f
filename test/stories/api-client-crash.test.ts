// The worker is killed when the identity provider has made an API client and the records have not.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { openIdentities, type Identities } from '../support/identities.ts'
import { until } from '../support/issuing.ts'
import { clientsPath, isAccepted } from '../support/machines.ts'
import { openCrash, type CrashScene, type Moment } from './crash.ts'
import { makeScene } from './scene.ts'

let scene: CrashScene
let store: Identities
let realmId: string

beforeAll(async () => {
  scene = await openCrash()
  store = await openIdentities()
  ;({ realmId } = await makeScene(scene, 1))
}, 120_000)
afterAll(async () => {
  await store.close()
  await scene.stop()
}, 60_000)

const known = async (name: string) => (await store.listClients(0, 10_000)).filter(client => client.name === name)
const recorded = (name: string) => scene.em().count(ApiClient, { name })
const make = (name: string) => scene.call('POST', clientsPath, { name, realmIds: [realmId] })

/** Makes a client, and kills the worker that is about to record it. */
const killedAt = (moment: Moment, name: string, workers = [scene.running.worker]) =>
  scene.kill({
    moment,
    event: 'insert',
    table: 'api_client',
    workflow: 'createApiClient',
    workers: () => workers,
    begin: () => ({ reply: make(name) }),
    midway: async () => {
      expect(await known(name)).toHaveLength(1)
      expect(await recorded(name)).toBe(0)
    },
  })

type Reply = Awaited<ReturnType<typeof make>>

/** One client at each side, whose secret gets a token, and one event. */
const expectOne = async ({ status, body }: Reply, runId: string): Promise<void> => {
  expect([status, body.apiError]).toEqual([201, undefined])
  expect(await scene.endOf(runId)).toBe('COMPLETED')
  expect(await known(body.name)).toHaveLength(1)
  expect(await recorded(body.name)).toBe(1)
  expect(await isAccepted(body, body.secret)).toBe(true)
  expect(await scene.eventsOf(body.id)).toEqual(['ENTITY_CREATED'])
}

const newName = (): string => `Crash ${crypto.randomUUID()}`

test.each<Moment>(['ROW', 'COMMIT'])(
  'at the %s: another worker ends it, once',
  async moment => {
    const other = await scene.anotherWorker()
    try {
      const { begun, runId } = await killedAt(moment, newName(), [scene.running.worker, other])
      await expectOne(await begun.reply, runId)
    } finally {
      await other.stop()
      if (scene.running.worker.ended()) await scene.startWorker()
    }
  },
  300_000,
)

test('at the ROW: the worker that is started again ends it at both sides, once, or undoes it', async () => {
  const name = newName()
  const { begun, runId } = await killedAt('ROW', name)
  await scene.startWorker()
  const reply = await begun.reply
  if (reply.status === 201) return expectOne(reply, runId)
  expect([502, 503]).toContain(reply.status)
  expect(await scene.endOf(runId)).toBe('FAILED')
  await until('nothing is left at the identity provider', async () => (await known(name)).length === 0)
  expect(await recorded(name)).toBe(0)
  expect((await make(name)).status).toBe(201)
  expect(await known(name)).toHaveLength(1)
}, 300_000)
