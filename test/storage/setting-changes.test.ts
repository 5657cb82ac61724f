// Hearing of changed settings: soon, without asking the database, and again after the connection was lost (contract 9.1).
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { openStorage } from '../../storage/orm.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { listenToChanges } from '../../storage/setting-changes.ts'
import { Settings } from '../../storage/settings.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { freshDatabase, serviceUrlOf } from '../support/database.ts'
import { until } from '../support/issuing.ts'

/** Only what is heard makes these read again. */
const freshForMs = 3_600_000

let owner: MikroORM
let orm: MikroORM
let url: string
let settings: Settings
let warnings: string[]
let heard: number
let stop: () => Promise<void>

const listenAt = (address: string) =>
  listenToChanges({
    url: address,
    settings,
    warn: text => void warnings.push(text),
    heard: () => void (heard += 1),
  })

beforeEach(async () => {
  const ownerUrl = await freshDatabase()
  // The role of the service, which has no right that listening would need.
  url = serviceUrlOf(ownerUrl)
  owner = await openStorage({ url: ownerUrl, connections: 2 })
  orm = await openStorage({ url, connections: 2 })
  settings = new Settings(orm.em, { freshForMs })
  warnings = []
  heard = 0
})
afterEach(async () => {
  await stop()
  await orm.close()
  await owner.close()
})

const listen = async (address = url) => {
  const listener = listenAt(address)
  stop = () => listener.stop()
  if (address === url) await until('it listens', async () => heard > 0)
}
const store = async (value: string) => {
  const em = orm.em.fork()
  const row = await em.findOne(Setting, { settingsKey: 'issue.wait-seconds' })
  if (row) row.value = value
  else em.create(Setting, { settingsKey: 'issue.wait-seconds', value })
  await em.flush()
}
const reads = (seconds: number) =>
  until(`it reads ${seconds}`, async () => (await settings.integer('issue.wait-seconds')) === seconds)

/** Ends the connections that listen and answers how many there were. */
const cut = async (): Promise<number> => {
  const found = await owner.em.fork().execute(
    `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'certwright settings'`,
  )
  return found.length
}

test('what is stored, changed and removed is heard, whoever did it', async () => {
  await listen()
  expect(await settings.integer('issue.wait-seconds')).toBe(30)
  await store('7')
  await reads(7)
  await owner.em.fork().execute(`update setting set value = '8'`)
  await reads(8)
  await owner.em.fork().execute('delete from setting')
  await reads(30)
  await store('9')
  await reads(9)
  await owner.em.fork().execute('truncate setting')
  await reads(30)
})

test('a change of a transaction that is taken back is not heard', async () => {
  await listen()
  expect(await settings.integer('issue.wait-seconds')).toBe(30)
  let forgotten = 0
  const counting = listenToChanges({ url, settings: { forget: () => void (forgotten += 1) }, warn: () => undefined })
  await until('it listens as well', async () => forgotten === 1)
  const undone = owner.em.fork().transactional(async em => {
    await em.execute(`insert into setting (id, settings_key, value, created_by_type, created_date, last_modified_by_type,
      last_modified_date) values (gen_random_uuid(), 'custom.a', '1', 'SYSTEM', now(), 'SYSTEM', now())`)
    throw new Error('taken back')
  })
  await expect(undone).rejects.toThrow('taken back')
  await store('5')
  await until('the other change is heard', async () => forgotten > 1)
  expect(forgotten).toBe(2)
  await counting.stop()
})

test('a lost connection is opened again, and what was changed meanwhile is read', async () => {
  await listen()
  expect(await settings.integer('issue.wait-seconds')).toBe(30)
  expect(await cut()).toBe(1)
  await store('11')
  await reads(11)
  await until('it listens again', async () => heard === 2)
  expect(warnings).toHaveLength(1)
  await store('12')
  await reads(12)
})

test('where nobody answers it is told once, tried again and ended at once', async () => {
  await listen(`postgresql://nobody:none@127.0.0.1:${await freePort()}/nothing`)
  await until('it was told', async () => warnings.length > 0)
  await pause(1500)
  expect(warnings).toHaveLength(1)
  const began = performance.now()
  await stop()
  expect(performance.now() - began).toBeLessThan(3000)
})

test('a change that comes while values are read is not lost', async () => {
  await listen()
  await settings.integer('issue.wait-seconds')
  const questions: Promise<number>[] = []
  for (let value = 31; value < 61; value += 1) {
    settings.forget()
    questions.push(settings.integer('issue.wait-seconds'))
    await store(String(value))
  }
  await Promise.all(questions)
  await reads(60)
})
