// A setting that is changed at one API process acts at another and at a worker, without a question for each request.
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { openStorage } from '../../storage/orm.ts'
import { listenToChanges } from '../../storage/setting-changes.ts'
import { Settings } from '../../storage/settings.ts'
import { startApi, type Api } from '../support/api.ts'
import { serviceUrlOf } from '../support/database.ts'
import { until } from '../support/issuing.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

const stops: (() => Promise<unknown>)[] = []
let changed: Api
let other: Api
let worker: Settings
let otherOrm: MikroORM

/** A storage with its settings and listener, as each process has them; who stops it closes the storage. */
const openProcess = async (url: string) => {
  const orm = await openStorage({ url, connections: 3 })
  const settings = new Settings(orm.em)
  let heard = false
  const listener = listenToChanges({ url, settings, warn: () => undefined, heard: () => void (heard = true) })
  await until('it listens', async () => heard)
  return { orm, settings, stop: () => listener.stop() }
}

beforeAll(async () => {
  changed = await startApi()
  const url = serviceUrlOf(changed.databaseUrl)
  const first = await openProcess(url)
  worker = first.settings
  stops.push(first.stop, () => first.orm.close())
  const { orm, settings, stop } = await openProcess(url)
  stops.push(stop)
  otherOrm = orm
  other = await startApi({
    databaseName: `certwright_unused_${process.env['JEST_WORKER_ID']}`,
    deps: { orm, settings, authenticate: changed.deps.authenticate },
  })
})
afterAll(async () => {
  for (const stop of stops) await stop()
  await changed.stop()
  await other.stop()
})

test('a change acts within 10 s at all, and requests ask for no settings', async () => {
  const em = changed.em()
  const realm = await makeRealm(em)
  const endEntity = await makeEndEntity(em, realm)
  const validNotAfter = new Date(Date.now() + 40 * 86_400_000)
  await makeCertificate(em, await makePolicy(em, realm), { endEntity, validNotAfter })
  const admin = await changed.user({ GLOBAL: ['ADMIN'] })
  const token = await changed.issuer.userToken(admin.subject)
  const path = `/api/v1/certificates/realms/${realm.id}/expiring?size=10`
  const listed = async () => {
    const { status, body } = await other.as(token).get(path)
    expect(status).toBe(200)
    return body.content.length as number
  }
  expect(await listed()).toBe(0)
  expect(await worker.integer('certificate.expiring-soon-days')).toBe(30)
  const change = await admin.patch('/api/v1/configuration', {
    settingsKey: 'certificate.expiring-soon-days',
    value: '50',
  })
  expect(change.status).toBe(200)
  const began = Date.now()
  await until('the other process follows', async () => (await listed()) === 1)
  await until('the worker follows', async () => (await worker.integer('certificate.expiring-soon-days')) === 50)
  expect(Date.now() - began).toBeLessThan(10_000)
})

test('a hundred requests ask for settings only as often as these grow old', async () => {
  const admin = await changed.user({ GLOBAL: ['ADMIN'] })
  const realm = await makeRealm(changed.em())
  const caller = other.as(await changed.issuer.userToken(admin.subject))
  const statements: string[] = []
  const logger = otherOrm.config.getLogger()
  jest.spyOn(logger, 'logQuery').mockImplementation(({ query }) => void statements.push(query ?? ''))
  other.deps.settings.forget()
  const began = performance.now()
  for (let left = 100; left > 0; left -= 1)
    expect((await caller.get(`/api/v1/certificates/realms/${realm.id}/expiring?size=10`)).status).toBe(200)
  const seconds = (performance.now() - began) / 1000
  const asked = statements.filter(text => /from "setting"/.test(text)).length
  expect(statements.length).toBeGreaterThan(100)
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThanOrEqual(1 + Math.ceil(seconds / 5))
})
