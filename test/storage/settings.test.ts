// Stored settings, their defaults and how soon a change is seen.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { openStorage } from '../../storage/orm.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { settingSecretUse } from '../../storage/key-uses.ts'
import { Seal } from '../../storage/seal.ts'
import { Settings } from '../../storage/settings.ts'
import { freshDatabase } from '../support/database.ts'

let orm: MikroORM
let settings: Settings

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
})
afterAll(() => orm.close())
beforeEach(async () => {
  await orm.em.fork().nativeDelete(Setting, {})
  settings = new Settings(orm.em)
})

const store = async (settingsKey: string, value: string | null) => {
  const em = orm.em.fork()
  const row = (await em.findOne(Setting, { settingsKey })) ?? em.create(Setting, { settingsKey, value })
  row.value = value
  await em.flush()
}

test('a key without a row has its default', async () => {
  expect(await settings.integer('issue.wait-seconds')).toBe(30)
  expect(await settings.isOn('mail.enabled')).toBe(false)
  expect(await settings.text('mail.language')).toBe('en')
  expect(await settings.text('mail.host')).toBe(null)
})

test('a stored value goes before the default', async () => {
  await store('issue.wait-seconds', '7')
  await store('mail.enabled', 'true')
  await store('mail.host', 'mail.example.org')
  expect(await settings.integer('issue.wait-seconds')).toBe(7)
  expect(await settings.isOn('mail.enabled')).toBe(true)
  expect(await settings.text('mail.host')).toBe('mail.example.org')
})

test('a stored null is the default', async () => {
  await store('mail.language', null)
  expect(await settings.text('mail.language')).toBe('en')
})

test.each(['many', '0', '301', '1.5', ''])('a stored number that cannot be used (%p) is the default', async value => {
  await store('issue.wait-seconds', value)
  expect(await settings.integer('issue.wait-seconds')).toBe(30)
})

test('a list is read as numbers, an empty one too, and what cannot be used is the default', async () => {
  const present = new Settings(orm.em, { freshForMs: 0 })
  for (const [value, numbers] of [
    [null, [30, 14, 7, 1]],
    ['60, 5', [60, 5]],
    ['', []],
    ['5,many', [30, 14, 7, 1]],
    ['5,,7', [30, 14, 7, 1]],
    ['0', [30, 14, 7, 1]],
  ] as const) {
    await store('notification.expiry-days', value)
    expect([value, await present.list('notification.expiry-days')]).toEqual([value, numbers])
  }
})

test('a secret is opened by the key that its name leads to, and by no other', async () => {
  const seal = new Seal(new Map([['k', randomBytes(32)]]))
  const present = new Settings(orm.em, { seal, freshForMs: 0 })
  const em = orm.em.fork()
  em.create(Setting, {
    settingsKey: 'mail.password',
    value: null,
    sealed: seal.seal(Buffer.from('w'), settingSecretUse('mail.password')),
  })
  await em.flush()
  expect(await present.secret('mail.password')).toBe('w')
  expect(await present.text('mail.password')).toBe(null)
  await expect(new Settings(orm.em).secret('mail.password')).rejects.toThrow('has no master keys')
  await em.nativeUpdate(
    Setting,
    { settingsKey: 'mail.password' },
    { sealed: seal.seal(Buffer.from('w'), settingSecretUse('custom.a')) },
  )
  await expect(present.secret('mail.password')).rejects.toThrow('sealed for another use')
})

test('defaults below the address of the service', async () => {
  const present = new Settings(orm.em, { baseUrl: 'https://ca.example.org/' })
  expect(await present.text('pki.base-url')).toBe('https://ca.example.org/pki')
  expect(await present.text('verification.base-url')).toBe('https://ca.example.org/verify-email')
})

test('a change is seen once the values are 5 seconds old, and not before', async () => {
  const clock = jest.spyOn(performance, 'now')
  try {
    clock.mockReturnValue(1_000_000)
    expect(await settings.integer('issue.wait-seconds')).toBe(30)
    await store('issue.wait-seconds', '9')
    clock.mockReturnValue(1_004_999)
    expect(await settings.integer('issue.wait-seconds')).toBe(30)
    clock.mockReturnValue(1_005_001)
    expect(await settings.integer('issue.wait-seconds')).toBe(9)
  } finally {
    clock.mockRestore()
  }
})

test('values that are never fresh are read by each question', async () => {
  const present = new Settings(orm.em, { freshForMs: 0 })
  expect(await present.integer('issue.wait-seconds')).toBe(30)
  await store('issue.wait-seconds', '9')
  expect(await present.integer('issue.wait-seconds')).toBe(9)
})

test('questions at the same time share one reading', async () => {
  const fork = jest.spyOn(orm.em, 'fork')
  try {
    await Promise.all(Array.from({ length: 20 }, () => settings.integer('issue.wait-seconds')))
    expect(fork).toHaveBeenCalledTimes(1)
  } finally {
    fork.mockRestore()
  }
})

test('a reading that failed is tried again by the next question', async () => {
  const fork = jest.spyOn(orm.em, 'fork').mockImplementationOnce(() => {
    throw new Error('no database')
  })
  try {
    await expect(settings.integer('issue.wait-seconds')).rejects.toThrow('no database')
    expect(await settings.integer('issue.wait-seconds')).toBe(30)
  } finally {
    fork.mockRestore()
  }
})
