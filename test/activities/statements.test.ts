// What a group costs the database: the statements of issuing it do not grow with the group (bench/ says what each takes).
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { Settings } from '../../storage/settings.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import { createActivities } from '../../activities/index.ts'
import { makeEndEntity } from '../support/records.ts'
import { statementCounter } from '../support/statements.ts'
import { makeScene, newOrder, newRequest, openFixture, run, type Fixture, type Scene } from './fixture.ts'

/** With begin and commit. */
const most = 9

let fixture: Fixture
let activities: Fixture['activities']
let counter: Awaited<ReturnType<typeof statementCounter>>

beforeAll(async () => {
  fixture = await openFixture()
  const { orm, services } = fixture
  // As a worker has them: read again after some seconds.
  const settings = new Settings(orm.em, { seal: services.seal, freshForMs: 3_600_000 })
  activities = createActivities({ ...services, settings })
  counter = await statementCounter(orm.config.get<'clientUrl', string>('clientUrl'))
  // The signer of the CA is opened once a process.
  await issue(await claimed(await sceneOf(), 1, 'issue/first'))
})
afterAll(async () => {
  await counter.close()
  await fixture.orm.close()
})

const issue = (input: { runId: string; certRequestIds: string[] }) => run(activities.issueChunk, input)

const bringKey = async (id: string): Promise<void> => {
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  const sql = `update cert_request set key_pair_mode = 'PUBLIC_KEY', key_gen_params_dto = null, public_key = ? where id = ?`
  await fixture.em().execute(sql, [publicKeySpki, id])
}

const sceneOf = (members: Partial<Policy> = {}): Promise<Scene> =>
  makeScene(fixture.orm, { allowedKeyPairModes: ['SERVER_GEN', 'PUBLIC_KEY'], ...members })

/** Requests of an end entity each, which a run has claimed; every second one makes the service make the key. */
const claimed = async (scene: Scene, count: number, runId: string) => {
  const em = fixture.em()
  const certRequestIds: string[] = []
  for (let index = 0; index < count; index++) {
    const endEntity = await makeEndEntity(em, scene.realm)
    const { id } = await newRequest(em, scene, { runId, endEntity })
    if (index % 2 === 0) await bringKey(id)
    certRequestIds.push(id)
  }
  return { runId, certRequestIds }
}

/** The statements that the server executes meanwhile, by its own statistics. */
const executed = async (work: () => Promise<unknown>): Promise<string[]> => (await counter.during(work)).statements

const policies: Record<string, Partial<Policy>> = {
  'where several certificates may be active': {},
  'where one certificate may be active': { enforceActiveCertUniqueness: true },
}

test.each(Object.keys(policies))('a group of thirty costs the statements of one, %s', async name => {
  const scene = await sceneOf(policies[name])
  const one = await claimed(scene, 1, 'issue/one')
  const many = await claimed(scene, 30, 'issue/many')
  const alone = await executed(() => issue(one))
  const together = await executed(async () => {
    const outcomes = await issue(many)
    expect(outcomes.filter(({ certificateId }) => certificateId)).toHaveLength(30)
  })
  expect(together).toHaveLength(alone.length)
  expect(together.length).toBeLessThanOrEqual(most)
})

test('requests of several policies and realms cost no more', async () => {
  const scenes = [await sceneOf(), await sceneOf(), await sceneOf()]
  const groups = []
  for (const scene of scenes) groups.push(await claimed(scene, 3, 'issue/several'))
  const certRequestIds = groups.flatMap(group => group.certRequestIds)
  const statements = await executed(() => issue({ runId: 'issue/several', certRequestIds }))
  expect(statements.length).toBeLessThanOrEqual(most)
})

test('an order costs two statements a chunk beside those of its groups, of which one ends their items', async () => {
  const scene = await sceneOf()
  const members = await Promise.all(
    Array.from({ length: 60 }, async () => ({ endEntity: await makeEndEntity(fixture.em(), scene.realm) })),
  )
  const { orderId } = await newOrder(fixture.em(), scene, members)
  const statements = await executed(() => run(activities.issueOrderItems, { orderId, from: 0, to: 59 }))
  expect(statements.filter(text => text === 'begin')).toHaveLength(2)
  expect(statements.length).toBeLessThanOrEqual(2 + 2 * (most + 1))
})

test('a group of which some are refused costs one statement more', async () => {
  const scene = await sceneOf()
  const good = await claimed(scene, 5, 'issue/some')
  const bad: string[] = []
  for (let count = 0; count < 3; count++)
    bad.push((await newRequest(fixture.em(), scene, { runId: 'issue/some', validFor: 'TEN_YEARS' })).id)
  const all = { runId: 'issue/some', certRequestIds: [...good.certRequestIds, ...bad] }
  const statements = await executed(async () => {
    const outcomes = await issue(all)
    expect(outcomes.map(({ failure }) => failure?.apiError).filter(Boolean)).toEqual(
      bad.map(() => 'VALID_FOR_NOT_ALLOWED'),
    )
  })
  expect(statements.length).toBeLessThanOrEqual(most + 1)
})
