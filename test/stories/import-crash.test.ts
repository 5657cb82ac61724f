// The worker is killed twice in an import of users: as it commits the second page, and as it disables those that are gone.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { IdentityProvider } from '../../embedded/servers/identity-provider.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { User } from '../../storage/rows/user.ts'
import { importWorkflowId } from '../../workflows/ids.ts'
import { startOwnIdentityProvider } from '../support/own-identity-provider.ts'
import { directoryClient } from '../support/processes.ts'
import { detailsOf } from '../support/service.ts'
import { openCrash, type CrashScene, type Hold } from './crash.ts'
import { untilMade } from './scene.ts'

const people = 250
const gone = 130
const importPath = '/api/v1/admin/import-provider-users'
const runId = importWorkflowId('USER')

let scene: CrashScene
let provider: IdentityProvider

beforeAll(async () => {
  provider = await startOwnIdentityProvider('crash')
  await provider.store.upsertClient({ ...directoryClient, managesClients: true })
  scene = await openCrash({ directoryUrl: `${new URL(provider.url).origin}/auth` })
  await untilMade(scene)
}, 120_000)
afterAll(async () => {
  await scene.stop()
  await provider.stop()
}, 60_000)

// The identity provider lists them by these names.
const addressOf = (number: number): string => `person-${String(number).padStart(3, '0')}@example.org`

const makePeople = async (): Promise<void> => {
  const names = { firstName: 'Ada', lastName: 'Lovelace' }
  for (let number = 0; number < people; number++)
    await provider.store.upsertUser({ username: addressOf(number), email: addressOf(number), ...names })
  const em = scene.em()
  // The administrator of the first start is at another identity provider.
  await em.nativeDelete(User, {})
  for (let number = 0; number < gone; number++)
    em.create(User, { providerId: `gone-${number}`, email: `gone-${number}@example.org` })
  await em.flush()
}

const enabledNow = () => scene.em().count(User, { enabled: true })

/** Kills the worker at such a transaction, and hurries Temporal, which waits for the lost attempt for 40 seconds. */
const killedAt = async <T>(hold: Pick<Hold, 'event' | 'when'>, begin: () => T, midway: () => Promise<void>) => {
  const { begun, worker } = await scene.kill({
    ...hold,
    moment: 'COMMIT',
    table: 'app_user',
    workflow: 'importUsers',
    workers: () => [scene.running.worker],
    begin,
    midway,
  })
  await scene.giveUpAttempts(runId, worker)
  return begun
}

test('each is brought in or disabled once, and the run counts what it did, however often its worker dies', async () => {
  await makePeople()
  const { reply } = await killedAt(
    { event: 'insert', when: `new.email = '${addressOf(150)}'` },
    () => ({ reply: scene.call('GET', importPath) }),
    async () => expect(await enabledNow()).toBe(gone + 100),
  )
  await killedAt(
    { event: 'update', when: `new.email = 'gone-7@example.org'` },
    () => scene.startWorker(),
    async () => expect(await enabledNow()).toBeGreaterThan(people),
  )
  await scene.startWorker()
  expect((await reply).status).toBe(204)
  expect(await scene.endOf(runId)).toBe('COMPLETED')
  expect(await detailsOf(scene, runId)).toBe(
    `${people} read, ${people} new, 0 changed; ${people + gone} looked for, ${gone} disabled`,
  )
  const users = await scene.em().findAll(User)
  const [present, absent] = [users.filter(({ enabled }) => enabled), users.filter(({ enabled }) => !enabled)]
  expect(new Set(present.map(({ email }) => email)).size).toBe(people)
  expect([present.length, absent.length]).toEqual([people, gone])
  const eventsOf = async (rows: readonly User[], eventType: AuditEvent['eventType']) => {
    const events = await scene.em().find(AuditEvent, { objectId: { $in: rows.map(({ id }) => id) } })
    expect(new Set(events.map(event => event.eventType))).toEqual(new Set([eventType]))
    return events.length
  }
  expect(await eventsOf(present, 'ENTITY_CREATED')).toBe(people)
  expect(await eventsOf(absent, 'ENTITY_UPDATED')).toBe(gone)
}, 400_000)
