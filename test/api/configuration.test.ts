// Settings through HTTP: their table of values, versions, secrets and what is recorded (contract 9.1).
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { settings as table } from '../../domain/settings.ts'
import { settingSecretUse } from '../../storage/key-uses.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { startApi, type Api } from '../support/api.ts'

let api: Api
let admin: Awaited<ReturnType<Api['user']>>
beforeAll(async () => {
  api = await startApi()
  admin = await api.user({ GLOBAL: ['ADMIN'] })
})
afterAll(() => api.stop())

const path = '/api/v1/configuration'
const read = async (key: string) => (await admin.get(`${path}/${encodeURIComponent(key)}`)).body
const set = (settingsKey: string, value: unknown, members: object = {}) =>
  admin.patch(path, { settingsKey, value, ...members })
const answerOf = async (reply: Promise<{ status: number; body: { apiError?: string } }>) => {
  const { status, body } = await reply
  return [status, body.apiError]
}
const eventsOf = async (key: string) =>
  (
    await api.em().find(AuditEvent, { eventDescription: { $like: `Setting ${key} %` } }, { orderBy: { id: 'asc' } })
  ).map(({ eventType, eventDescription }) => [eventType, eventDescription.replace(/ by .*/, '')])

describe('getConfiguration', () => {
  test('a known key without a stored value reads its default and version 0', async () => {
    const { status, body } = await admin.get(`${path}/issue.wait-seconds`)
    expect(status).toBe(200)
    expect(body).toEqual({
      settingsKey: 'issue.wait-seconds',
      value: '30',
      valueSet: false,
      secret: false,
      type: 'INTEGER',
      defaultValue: '30',
      description: 'Wait of one synchronous issue or revocation',
      metadata: {
        createdBy: null,
        createdByType: 'SYSTEM',
        createdDate: null,
        lastModifiedBy: null,
        lastModifiedByType: 'SYSTEM',
        lastModifiedDate: null,
        version: 0,
      },
    })
  })

  test('every known key reads 200', async () => {
    for (const key of Object.keys(table)) expect([key, (await admin.get(`${path}/${key}`)).status]).toEqual([key, 200])
  })

  test.each([
    ['verification.base-url', 'http://localhost/verify-email'],
    ['pki.base-url', 'http://localhost/pki'],
  ])('the default of %s is below the address of the service', async (key, value) => {
    expect(await read(key)).toMatchObject({ value, defaultValue: value, valueSet: false })
  })

  test.each(['mail.color', 'custom.nothing', 'custom.', 'MAIL.HOST', '__proto__', 'toString'])(
    'there is no %s',
    async key => {
      expect(await answerOf(admin.get(`${path}/${key}`))).toEqual([404, 'CONFIGURATION_NOT_FOUND'])
    },
  )

  test('needs ADMIN, and a token', async () => {
    const others = await api.user({ GLOBAL: ['REALMS_FULL_READ', 'USERS_UPDATE'] })
    expect(await answerOf(others.get(`${path}/issue.wait-seconds`))).toEqual([403, 'ACCESS_DENIED'])
    expect(await answerOf(others.get(`${path}/unknown`))).toEqual([403, 'ACCESS_DENIED'])
    expect((await api.anonymous.get(`${path}/issue.wait-seconds`)).status).toBe(401)
  })
})

describe('createConfiguration', () => {
  test('stores a value with its description, once', async () => {
    const given = { settingsKey: 'custom.office/room 7', value: ' B 12 ', description: 'Where we sit' }
    const { status, body } = await admin.post(path, given)
    expect(status).toBe(201)
    expect(body).toMatchObject({ ...given, value: 'B 12', valueSet: true, type: 'STRING', defaultValue: null })
    expect(body.metadata).toMatchObject({ version: 1, createdBy: admin.id })
    expect(await read('custom.office/room 7')).toEqual(body)
    expect(await answerOf(admin.post(path, given))).toEqual([409, 'ALREADY_EXISTS'])
  })

  test('an update keeps the description', async () => {
    await admin.post(path, { settingsKey: 'password.length', value: '20', description: 'As our policy says' })
    expect((await set('password.length', '24')).body).toMatchObject({ value: '24', description: 'As our policy says' })
  })

  test('of the same setting at the same time one is stored', async () => {
    const given = { settingsKey: 'custom.race', value: '1' }
    const replies = await Promise.all(Array.from({ length: 8 }, () => admin.post(path, given)))
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 409, 409, 409, 409, 409, 409, 409])
  })

  test.each([
    ['an unknown key', { settingsKey: 'mail.color', value: 'red' }, 422, 'UNKNOWN_SETTINGS_KEY'],
    ['a bare prefix', { settingsKey: 'custom.', value: 'red' }, 422, 'UNKNOWN_SETTINGS_KEY'],
    ['no value', { settingsKey: 'mail.host' }, 400, 'INVALID_REQUEST'],
    ['an empty value', { settingsKey: 'mail.host', value: ' ' }, 422, 'INVALID_SETTING'],
    ['an empty secret', { settingsKey: 'mail.password', value: '' }, 422, 'INVALID_SETTING'],
    ['a number', { settingsKey: 'mail.port', value: 25 }, 400, 'INVALID_REQUEST'],
    ['NUL', { settingsKey: 'custom.nul', value: 'a\u0000' }, 400, 'INVALID_REQUEST'],
    ['half a pair', { settingsKey: 'custom.half', value: '\ud83d' }, 400, 'INVALID_REQUEST'],
    ['a long key', { settingsKey: `custom.${'a'.repeat(249)}`, value: '1' }, 400, 'INVALID_REQUEST'],
  ])('refuses %s', async (...[, given, status, apiError]) => {
    expect(await answerOf(admin.post(path, given))).toEqual([status, apiError])
  })
})

describe('updateConfiguration', () => {
  test('stores a known key, counts versions and tells each change once', async () => {
    expect((await set('order.max-wait-days', '60')).body).toMatchObject({ value: '60', metadata: { version: 1 } })
    expect((await set('order.max-wait-days', '45', { version: 1 })).body.metadata.version).toBe(2)
    expect((await set('order.max-wait-days', ' 045 ')).body).toMatchObject({ value: '45', metadata: { version: 2 } })
    expect((await set('order.max-wait-days', undefined)).body.metadata.version).toBe(2)
    expect((await set('order.max-wait-days', null)).body).toMatchObject({ value: '90', valueSet: false })
    expect(await eventsOf('order.max-wait-days')).toEqual([
      ['ENTITY_CREATED', 'Setting order.max-wait-days created with "60"'],
      ['ENTITY_UPDATED', 'Setting order.max-wait-days updated from "60" to "45"'],
      ['ENTITY_UPDATED', 'Setting order.max-wait-days updated from "45" to the default'],
    ])
  })

  test('nothing said about what is not stored stores nothing', async () => {
    expect((await set('mail.username', null)).body.metadata.version).toBe(0)
    expect((await set('mail.username', undefined)).body.metadata.version).toBe(0)
    expect(await api.em().count(Setting, { settingsKey: 'mail.username' })).toBe(0)
  })

  test.each([
    ['another version', 'purge.wait-seconds', '5', { version: 3 }, 409, 'VERSION_CONFLICT'],
    ['an unknown key', 'mail.color', 'red', {}, 404, 'CONFIGURATION_NOT_FOUND'],
    ['a free key that is not stored', 'custom.unknown', 'red', {}, 404, 'CONFIGURATION_NOT_FOUND'],
    ['the end of a system setting', 'system.realm-id', null, {}, 409, 'SYSTEM_ENTITY_PROTECTED'],
    ['an empty system setting', 'system.realm-id', '', {}, 409, 'SYSTEM_ENTITY_PROTECTED'],
  ])('refuses %s', async (...[, key, value, members, status, apiError]) => {
    expect(await answerOf(set(key, value, members))).toEqual([status, apiError])
  })

  test.each<[string, string, string]>([
    ['issue.wait-seconds', '0', 'must be a whole number from 1 to 300, not "0"'],
    ['issue.wait-seconds', '301', 'must be a whole number from 1 to 300, not "301"'],
    ['issue.wait-seconds', '1.5', 'must be a whole number from 1 to 300, not "1.5"'],
    ['issue.wait-seconds', '3e1', 'must be a whole number from 1 to 300, not "3e1"'],
    ['issue.wait-seconds', '+5', 'must be a whole number from 1 to 300, not "+5"'],
    ['issue.backdate-seconds', '-0', 'must be a whole number from 0 to 3600, not "-0"'],
    ['issue.backdate-seconds', '-1', 'must be a whole number from 0 to 3600, not "-1"'],
    ['mail.enabled', 'yes', 'must be true or false, not "yes"'],
    ['mail.host', 'mail server', 'must be a host name or an IP address, not "mail server"'],
    ['mail.from', 'ca', 'must be an e-mail address, such as ca@example.org, not "ca"'],
    ['mail.language', 'fr', 'must be one of en, de, not "fr"'],
    [
      'notification.expiry-days',
      '30;7',
      'must be whole numbers from 1 to 3650, separated by commas, at most 50, not "30;7"',
    ],
    [
      'notification.expiry-days',
      '30,,7',
      'must be whole numbers from 1 to 3650, separated by commas, at most 50, not "30,,7"',
    ],
    ['notification.expiry-days', '0', 'must be whole numbers from 1 to 3650, separated by commas, at most 50, not "0"'],
    ['system.realm-id', 'seven', 'must be a UUID, not "seven"'],
  ])('%s refuses %s and says what it takes', async (key, value, message) => {
    const { status, body } = await set(key, value)
    expect([status, body.apiError, body.errorMessage]).toEqual([422, 'INVALID_SETTING', `${key} ${message}.`])
    expect(body.fieldErrors).toEqual([{ field: 'value', message }])
  })

  const urls = [
    'ca.example.org',
    'ftp://ca.example.org',
    'http://',
    'http://a.org/?q=1',
    'http://a.org/#x',
    'https://u:p@a.org',
    'javascript:alert(1)',
    `http://a.org/${'a'.repeat(255)}`,
  ]
  test.each(urls)('verification.base-url and pki.base-url refuse %s', async url => {
    for (const key of ['verification.base-url', 'pki.base-url'])
      expect(await answerOf(set(key, url))).toEqual([422, 'INVALID_SETTING'])
  })

  test.each([
    ['verification.base-url', 'HTTPS://Mail.Example.ORG', 'https://mail.example.org'],
    ['verification.base-url', 'https://mail.example.org/verify/', 'https://mail.example.org/verify/'],
    ['pki.base-url', 'http://pki.example.org:8080/a', 'http://pki.example.org:8080/a'],
    ['mail.from', 'CA@Example.ORG', 'CA@example.org'],
    ['mail.host', 'MAIL.Example.ORG', 'mail.example.org'],
    ['mail.host', '192.0.2.25', '192.0.2.25'],
    ['mail.language', 'DE', 'de'],
    ['notification.expiry-days', '7, 30,7 ,1', '7,30,1'],
    ['notification.expiry-days', '', ''],
  ])('%s keeps %s as %s', async (key, given, value) => {
    expect((await set(key, given)).body).toMatchObject({ value, valueSet: true })
    expect(await read(key)).toMatchObject({ value })
  })

  test('an empty text of any other kind brings the default back', async () => {
    await set('mail.port', '587')
    expect((await set('mail.port', '')).body).toMatchObject({ value: '25', valueSet: false })
  })

  test('a free value has at most 4,000 characters', async () => {
    await admin.post(path, { settingsKey: 'custom.long', value: 'a'.repeat(4000) })
    expect((await read('custom.long')).value).toHaveLength(4000)
    const { status, body } = await set('custom.long', 'b'.repeat(4001))
    expect([status, body.apiError]).toEqual([422, 'INVALID_SETTING'])
    expect(body.errorMessage).toMatch(/^custom\.long must have at most 4000 characters, not "b{100}…"\.$/)
    expect((await eventsOf('custom.long')).flat().join()).not.toContain('aaa')
  })

  test('TLS begins with the connection or is an upgrade of it, not both, also when both are switched on at once', async () => {
    const replies = await Promise.all([set('mail.tls', 'true'), set('mail.starttls', 'true')])
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 422])
    const refused = replies.find(({ status }) => status === 422)
    expect(refused?.body.errorMessage).toMatch(/^mail\.(tls|starttls) must not be true while mail\.(tls|starttls) is/)
    await set('mail.tls', 'false')
    await set('mail.starttls', 'false')
  })
})

describe('a secret', () => {
  const key = 'mail.password'
  const sealedNow = async () => (await api.em().findOneOrFail(Setting, { settingsKey: key })).sealed

  test('is sealed, never returned, kept by an empty text and removed by null', async () => {
    const word = ' Correct horse '
    const { body } = await set(key, word)
    expect(body).toMatchObject({ value: null, valueSet: true, secret: true, type: 'SECRET', metadata: { version: 1 } })
    expect(api.deps.seal.unseal(Buffer.from((await sealedNow()) ?? []), settingSecretUse(key)).toString()).toBe(word)
    expect(await api.deps.settings.secret(key)).toBe(word)
    expect((await set(key, '')).body).toMatchObject({ valueSet: true, metadata: { version: 1 } })
    expect((await set(key, word)).body.metadata.version).toBe(1)
    const { body: found } = await admin.post(`${path}/search?sort=value`, { settingsKeys: [key] })
    expect(found.content).toMatchObject([{ settingsKey: key, value: null, valueSet: true }])
    expect((await set(key, null)).body).toMatchObject({ value: null, valueSet: false, metadata: { version: 2 } })
    expect(await api.deps.settings.secret(key)).toBe(null)
    expect(await eventsOf(key)).toEqual([
      ['ENTITY_CREATED', `Setting ${key} created`],
      ['ENTITY_UPDATED', `Setting ${key} updated`],
    ])
    expect(JSON.stringify(await api.em().execute('select * from audit_event'))).not.toContain('horse')
  })

  test('that is too long is refused without repeating it', async () => {
    const { status, body } = await set(key, 'hunter2'.repeat(200))
    expect([status, body.errorMessage]).toEqual([422, 'mail.password must have at most 1000 characters.'])
    expect(JSON.stringify(body)).not.toContain('hunter2')
  })

  test('that cannot be opened any more is replaced', async () => {
    await set(key, 'first')
    await api.em().nativeUpdate(Setting, { settingsKey: key }, { sealed: Buffer.from('broken') })
    expect((await set(key, 'second')).status).toBe(200)
    expect(await api.deps.settings.secret(key)).toBe('second')
  })
})
