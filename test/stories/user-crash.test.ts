// The worker is killed between the two writes of a registration: the identity provider has the user, the records do not yet.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { User } from '../../storage/rows/user.ts'
import { openIdentities, type Identities } from '../support/identities.ts'
import { until } from '../support/issuing.ts'
import { mailsTo, newPerson, usersPath } from '../support/people.ts'
import { openCrash, type CrashScene, type Moment } from './crash.ts'
import { untilMade } from './scene.ts'

let scene: CrashScene
let store: Identities

beforeAll(async () => {
  scene = await openCrash()
  store = await openIdentities()
  await untilMade(scene)
}, 120_000)
afterAll(async () => {
  await store.close()
  await scene.stop()
}, 60_000)

const knownAs = (email: string) => store.listUsers({ email, exact: true }, 0, 10)
const recordedAs = (email: string) => scene.em().find(User, { email })

/** Registers a user, and kills the worker that is about to record it. */
const killedAt = (moment: Moment, email: string, workers = [scene.running.worker]) =>
  scene.kill({
    moment,
    event: 'insert',
    table: 'app_user',
    workflow: 'registerUser',
    workers: () => workers,
    begin: () => ({ reply: scene.call('POST', `${usersPath}/`, newPerson({ email, enablePasswordLogin: true })) }),
    midway: async () => {
      expect(await knownAs(email)).toHaveLength(1)
      expect(await recordedAs(email)).toEqual([])
    },
  })

/** One user at each side, one event, and one mail. */
const expectOne = async (email: string): Promise<void> => {
  const [user] = await knownAs(email)
  expect(await knownAs(email)).toHaveLength(1)
  const [record, ...others] = await recordedAs(email)
  expect(others).toEqual([])
  expect(record).toMatchObject({ providerId: user?.id, enabled: true, passwordLoginEnabled: true, version: 1 })
  expect(await scene.eventsOf(record?.id ?? '')).toEqual(['ENTITY_CREATED'])
  expect(await mailsTo(email)).toHaveLength(1)
}

const newAddress = (): string => `crash-${crypto.randomUUID()}@example.org`

test.each<Moment>(['ROW', 'COMMIT'])(
  'at the %s: another worker ends it, once',
  async moment => {
    const email = newAddress()
    const other = await scene.anotherWorker()
    try {
      const { begun, runId } = await killedAt(moment, email, [scene.running.worker, other])
      const { status, body } = await begun.reply
      expect([status, body.email]).toEqual([201, email])
      expect(await scene.endOf(runId)).toBe('COMPLETED')
      await expectOne(email)
    } finally {
      await other.stop()
      if (scene.running.worker.ended()) await scene.startWorker()
    }
  },
  300_000,
)

test('at the COMMIT: the worker that is started again finds it recorded', async () => {
  const email = newAddress()
  const { begun, runId } = await killedAt('COMMIT', email)
  await scene.startWorker()
  expect((await begun.reply).status).toBe(201)
  expect(await scene.endOf(runId)).toBe('COMPLETED')
  await expectOne(email)
}, 300_000)

test('at the ROW: the worker that is started again ends it, or when it comes too late undoes it', async () => {
  const email = newAddress()
  const { begun, runId } = await killedAt('ROW', email)
  await scene.startWorker()
  const { status } = await begun.reply
  if (status === 201) {
    expect(await scene.endOf(runId)).toBe('COMPLETED')
    return expectOne(email)
  }
  expect([502, 503]).toContain(status)
  expect(await scene.endOf(runId)).toBe('FAILED')
  await until('nothing is left at the identity provider', async () => (await knownAs(email)).length === 0)
  expect(await recordedAs(email)).toEqual([])
  expect((await scene.call('POST', `${usersPath}/`, newPerson({ email }))).status).toBe(201)
  expect(await knownAs(email)).toHaveLength(1)
}, 300_000)
