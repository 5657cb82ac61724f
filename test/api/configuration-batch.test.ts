// Batches of settings, their search, their removal, and the settings that name resources (contract 9.1).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { settings as table } from '../../domain/settings.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { startApi, type Api } from '../support/api.ts'
import { makePolicy, makeRealm } from '../support/records.ts'

let api: Api
let admin: Awaited<ReturnType<Api['user']>>
beforeAll(async () => {
  api = await startApi()
  admin = await api.user({ GLOBAL: ['ADMIN'] })
})
beforeEach(async () => {
  await api.em().nativeDelete(Setting, {})
})
afterAll(() => api.stop())

const path = '/api/v1/configuration'
const store = (settingsKey: string, value: string, members: object = {}) =>
  admin.post(path, { settingsKey, value, ...members })
const batch = (...configurations: object[]) => admin.patch(`${path}/batch`, { configurations })
const stored = async () =>
  Object.fromEntries((await api.em().find(Setting, {})).map(({ settingsKey, value }) => [settingsKey, value]))

describe('updateConfigurationBatch', () => {
  test('changes all, in order, with an event each', async () => {
    await store('mail.port', '26')
    const before = await api.em().count(AuditEvent, {})
    const { status, body } = await batch(
      { settingsKey: 'mail.port', value: '587', version: 1 },
      { settingsKey: 'mail.host', value: 'mx.example.org' },
      { settingsKey: 'mail.language', value: null },
    )
    expect(status).toBe(200)
    expect(body.configurations).toMatchObject([
      { settingsKey: 'mail.port', value: '587', metadata: { version: 2 } },
      { settingsKey: 'mail.host', value: 'mx.example.org', metadata: { version: 1 } },
      { settingsKey: 'mail.language', value: 'en', metadata: { version: 0 } },
    ])
    expect(await api.em().count(AuditEvent, {})).toBe(before + 2)
  })

  test('changes nothing when one of them is wrong, and names all that are', async () => {
    const before = await api.em().count(AuditEvent, {})
    const { status, body } = await batch(
      { settingsKey: 'mail.host', value: 'mx.example.org' },
      { settingsKey: 'mail.port', value: '0' },
      { settingsKey: 'mail.enabled', value: 'on' },
    )
    expect([status, body.apiError]).toEqual([422, 'INVALID_SETTING'])
    expect(body.fieldErrors.map(({ field }: { field: string }) => field)).toEqual([
      'configurations.1.value',
      'configurations.2.value',
    ])
    expect(body.errorMessage).toContain('mail.enabled must be true or false, not "on"')
    expect([await stored(), await api.em().count(AuditEvent, {})]).toEqual([{}, before])
  })

  test('names those of all kinds that are wrong, with the code of the first to be judged', async () => {
    await store('mail.language', 'de')
    const { status, body } = await batch(
      { settingsKey: 'mail.port', value: '0' },
      { settingsKey: 'mail.language', value: 'en', version: 7 },
      { settingsKey: 'mail.host', value: 'mx.example.org' },
      { settingsKey: 'no.such-key', value: '1' },
    )
    expect([status, body.apiError]).toEqual([404, 'CONFIGURATION_NOT_FOUND'])
    expect(body.fieldErrors.map(({ field }: { field: string }) => field)).toEqual([
      'configurations.3.settingsKey',
      'configurations.1.version',
      'configurations.0.value',
    ])
    expect(await stored()).toEqual({ 'mail.language': 'de' })
  })

  test.each<[string, object[], number, string]>([
    [
      'a key twice',
      [{ settingsKey: 'mail.host' }, { settingsKey: 'mail.host', value: 'a.org' }],
      400,
      'INVALID_REQUEST',
    ],
    ['nothing', [], 400, 'INVALID_REQUEST'],
    ['too much', Array.from({ length: 1001 }, () => ({ settingsKey: 'a' })), 400, 'REQUEST_TOO_LARGE'],
    [
      'an unknown key',
      [{ settingsKey: 'mail.port', value: '0' }, { settingsKey: 'x' }],
      404,
      'CONFIGURATION_NOT_FOUND',
    ],
    ['an old version', [{ settingsKey: 'mail.port', value: '0', version: 2 }], 409, 'VERSION_CONFLICT'],
    [
      'both kinds of TLS',
      ['mail.tls', 'mail.starttls'].map(settingsKey => ({ settingsKey, value: 'true' })),
      422,
      'INVALID_SETTING',
    ],
  ])('refuses %s', async (...[, configurations, status, apiError]) => {
    const { body, ...reply } = await batch(...configurations)
    expect([reply.status, body.apiError]).toEqual([status, apiError])
    expect(await stored()).toEqual({})
  })

  test('changes from one kind of TLS to the other at once', async () => {
    await store('mail.tls', 'true')
    const { status } = await batch(
      { settingsKey: 'mail.starttls', value: 'true' },
      { settingsKey: 'mail.tls', value: null },
    )
    expect([status, await stored()]).toEqual([200, { 'mail.tls': null, 'mail.starttls': 'true' }])
  })
})

describe('deleteConfiguration', () => {
  test('brings the default back and is told', async () => {
    await store('mail.port', '587')
    expect((await admin.delete(`${path}/mail.port?version=1`)).status).toBe(204)
    expect((await admin.get(`${path}/mail.port`)).body).toMatchObject({ value: '25', metadata: { version: 0 } })
    const [event] = await api.em().find(AuditEvent, {}, { orderBy: { id: 'desc' }, limit: 1 })
    expect([event?.eventType, event?.eventDescription]).toEqual([
      'ENTITY_DELETED',
      expect.stringMatching(/^Setting mail\.port deleted, it was "587" by /),
    ])
    expect((await admin.delete(`${path}/mail.port?version=1`)).status).toBe(404)
  })

  test.each([
    ['without a version', 'mail.port', '', 400, 'INVALID_REQUEST'],
    ['of another version', 'mail.port', '?version=2', 409, 'VERSION_CONFLICT'],
    ['of what is not stored', 'mail.host', '?version=0', 404, 'CONFIGURATION_NOT_FOUND'],
    ['of an unknown key', 'mail.color', '?version=1', 404, 'CONFIGURATION_NOT_FOUND'],
    ['of what the service needs', 'system.realm-id', '?version=1', 409, 'SYSTEM_ENTITY_PROTECTED'],
  ])('%s is refused', async (...[, key, query, status, apiError]) => {
    await store('mail.port', '587')
    const realm = await makeRealm(api.em())
    await store('system.realm-id', realm.id)
    const reply = await admin.delete(`${path}/${key}${query}`)
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })

  test('of a free key lets it be made again', async () => {
    await store('custom.a', '1')
    expect((await admin.delete(`${path}/custom.a?version=1`)).status).toBe(204)
    expect((await admin.get(`${path}/custom.a`)).status).toBe(404)
    expect((await store('custom.a', '2')).body.metadata.version).toBe(1)
  })
})

describe('searchConfiguration', () => {
  const search = async (body: object, query = '') => (await admin.post(`${path}/search${query}`, body)).body
  const keys = ({ content }: { content: { settingsKey: string }[] }) => content.map(({ settingsKey }) => settingsKey)

  test('finds every known setting and the free ones that are stored, newest first', async () => {
    await store('mail.host', 'mx.example.org')
    await store('custom.z', '1')
    const all = await search({}, '?size=100')
    expect(keys(all).slice(0, 2)).toEqual(['custom.z', 'mail.host'])
    expect(keys(all).sort()).toEqual([...Object.keys(table), 'custom.z'].sort())
    expect(all).toMatchObject({ totalElements: Object.keys(table).length + 1, last: true })
  })

  test('narrows by prefix, keys and term together, in key and description', async () => {
    await store('custom.a', '1', { description: 'Seven of nine' })
    expect(keys(await search({ prefix: 'issue.' }))).toEqual([
      'issue.backdate-seconds',
      'issue.batch-wait-seconds',
      'issue.wait-seconds',
    ])
    expect(keys(await search({ simpleSearchTerm: 'seven OF' }))).toEqual(['custom.a'])
    expect(keys(await search({ simpleSearchTerm: 'LOGIN' }))).toEqual(['mail.password', 'mail.username'])
    expect(
      keys(await search({ settingsKeys: ['mail.host', 'nothing', 'issue.wait-seconds'], prefix: 'mail' })),
    ).toEqual(['mail.host'])
    expect(keys(await search({ simpleSearchTerm: '%' }))).toEqual([])
    expect((await admin.post(`${path}/search`, { settingsKeys: [] })).status).toBe(400)
  })

  test('sorts and pages', async () => {
    const page = await search({ prefix: 'mail.' }, '?sort=type,desc&sort=settingsKey,desc&size=2&page=1')
    expect(page).toMatchObject({ totalElements: 9, totalPages: 5, number: 1, numberOfElements: 2 })
    expect(keys(page)).toEqual(['mail.host', 'mail.from'])
    expect(await search({}, '?page=99')).toMatchObject({ content: [], totalElements: Object.keys(table).length })
  })
})

describe('settings of the system', () => {
  const [realmKey, userKey, cmpKey] = [
    'system.realm-id',
    'system.user-certificate-policy-id',
    'system.cmp-signer-policy-id',
  ] as const
  const make = async (members: Partial<Policy> = {}) => {
    const realm = await makeRealm(api.em())
    const [user, cmp] = [await makePolicy(api.em(), realm), await makePolicy(api.em(), realm, members)]
    return { [realmKey]: realm.id, [userKey]: user.id, [cmpKey]: cmp.id }
  }
  const changesTo = (ids: Record<string, string>) =>
    batch(...Object.entries(ids).map(([settingsKey, value]) => ({ settingsKey, value })))
  const flagged = async () => ({
    realms: (await api.em().find(Realm, { systemRealm: true })).map(({ id }) => id),
    policies: (await api.em().find(Policy, { systemPolicy: true })).map(({ id }) => id).sort(),
  })

  test('are changed together, and realm and policies know it', async () => {
    for (const ids of [await make(), await make()]) {
      expect((await changesTo(ids)).status).toBe(200)
      expect(await flagged()).toEqual({ realms: [ids[realmKey]], policies: [ids[userKey], ids[cmpKey]].sort() })
    }
  })

  test('refuse what does not fit', async () => {
    const [now, other] = [await make(), await make({ allowedKeyPairModes: ['PKCS10'] })]
    expect((await changesTo(now)).status).toBe(200)
    const archived = await makeRealm(api.em(), { archived: true })
    const wrong: [string, string | undefined, string][] = [
      [realmKey, randomUUID(), 'of a realm that is not archived'],
      [realmKey, archived.id, 'of a realm that is not archived'],
      [realmKey, other[realmKey], `the realm of the policy that ${userKey} names`],
      [userKey, randomUUID(), 'of a policy of the system realm'],
      [userKey, now[realmKey], 'of a policy of the system realm'],
      [cmpKey, other[cmpKey], 'of a policy of the system realm'],
    ]
    for (const [key, value, sentence] of wrong) {
      const { status, body } = await admin.patch(path, { settingsKey: key, value })
      expect([status, body.apiError]).toEqual([422, 'INVALID_SETTING'])
      expect(body.errorMessage).toContain(sentence)
    }
    expect((await changesTo(other)).body.errorMessage).toContain('allows SERVER_GEN')
    expect(await stored()).toEqual(now)
  })
})
