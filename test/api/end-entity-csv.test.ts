import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { startApi, type Api, type Reply } from '../support/api.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const path = '/api/v1/end-entities/upload-csv'
const someRealm = () => makeRealm(api.em())
const creatorIn = (realm: Realm) => api.user({ REALM: { [realm.id]: ['ENDENTITIES_CREATE'] } })
const countIn = (realm: Realm) => api.em().count(EndEntity, { realmId: realm.id })
const errorsOf = ({ body }: Reply) =>
  body.errors.map(({ line, apiError }: { line: number; apiError: string }) => [line, apiError])
const namesOf = ({ body }: Reply) => body.endEntities.map(({ commonName }: { commonName: string }) => commonName)

/** Uploads a table to a realm of its own. */
const upload = async (csv: string, members: object = {}): Promise<Reply> => {
  const realm = await someRealm()
  return (await creatorIn(realm)).post(path, { realmId: realm.id, csv, ...members })
}

test('asks for a token', async () => {
  expect((await api.anonymous.post(path, { realmId: randomUUID(), csv: 'commonName\na' })).status).toBe(401)
})

const sample = [
  'commonName;organization;country;externalId;email;domains;ips;generic.room',
  'web-01;"Example; ""North""";DE;A-4711;ops@example.org;web-01.example.org|www.example.org;192.0.2.10|2001:db8::10;B 12',
  '',
].join('\n')

test('makes the end entities of a table, grants them to their maker and records them', async () => {
  const realm = await someRealm()
  const user = await creatorIn(realm)
  const { status, body } = await user.post(path, { realmId: realm.id, csv: sample })
  expect(status).toBe(201)
  expect(body).toEqual({ total: 1, imported: 1, endEntities: [expect.anything()], errors: [] })
  const [made] = body.endEntities
  expect(made).toMatchObject({
    realmId: realm.id,
    alias: null,
    commonName: 'web-01',
    organization: 'Example; "North"',
    organizationalUnit: null,
    country: 'DE',
    externalId: 'A-4711',
    email: 'ops@example.org',
    domains: ['web-01.example.org', 'www.example.org'],
    ips: ['192.0.2.10', '2001:db8::10'],
    genericDtoList: [{ key: 'room', value: 'B 12' }],
    metadata: { version: 1, createdBy: user.id, createdByType: 'USER' },
  })
  expect((await user.get(`/api/v1/end-entities/${made.id}`)).body).toEqual(made)
  const grant = await api.em().findOneOrFail(PermissionGrant, { principalId: user.id, resourceId: made.id })
  expect(grant).toMatchObject({ scope: 'END_ENTITY', permissions: ['READ', 'UPDATE', 'DELETE'] })
  const event = await api.em().findOneOrFail(AuditEvent, { objectId: made.id })
  expect([event.eventType, event.realmId, event.principalId]).toEqual(['ENTITY_CREATED', realm.id, user.id])
  expect(event.eventDescription).toMatch(/^End entity web-01 created by .+@example\.com$/)
})

test('takes bytes as Base64, with byte order mark, commas, CRLF and empty lines', async () => {
  const table = '\uFEFFEMAIL,CommonName\r\n\r\na@example.org,Jürgen\r\n\r\n\r\n,Émile'
  const reply = await upload('', { csv: null, csvBase64: Buffer.from(table).toString('base64') })
  expect([reply.status, reply.body.total, namesOf(reply)]).toEqual([201, 2, ['Jürgen', 'Émile']])
})

test('good rows are created, bad ones reported by the line where they start', async () => {
  const realm = await someRealm()
  await makeEndEntity(api.em(), realm, { externalId: 'taken' })
  await makeEndEntity(api.em(), realm, { externalId: 'free', archived: true })
  await makeEndEntity(api.em(), await someRealm(), { externalId: 'elsewhere' })
  const csv = [
    'commonName,externalId,country,domains', // 1
    'ok-1,free,,', // 2
    'late,taken,,', // 3
    '', // 4
    '"ok', // 5
    '-2",x,,', // 6
    'ok-3,elsewhere,DE,', // 7
    'wrong,,XX,', // 8
    'again,elsewhere,,', // 9
    'short,', // 10
    '"long",,,,', // 11
    '5" pipe,,,', // 12
    ',,,no_host', // 13
    'ok-4,,,a.example|b.example', // 14
  ].join('\n')
  const reply = await (await creatorIn(realm)).post(path, { realmId: realm.id, csv })
  expect(reply.status).toBe(201)
  expect([reply.body.total, reply.body.imported, namesOf(reply)]).toEqual([11, 3, ['ok-1', 'ok-3', 'ok-4']])
  expect(errorsOf(reply)).toEqual([
    [3, 'ALREADY_EXISTS'],
    [5, 'VALIDATION_FAILED'],
    [8, 'VALIDATION_FAILED'],
    [9, 'ALREADY_EXISTS'],
    [10, 'VALIDATION_FAILED'],
    [11, 'VALIDATION_FAILED'],
    [12, 'VALIDATION_FAILED'],
    [13, 'VALIDATION_FAILED'],
  ])
  const told = reply.body.errors.map(({ commonName }: { commonName: string | null }) => commonName)
  expect(told).toEqual(['late', 'ok\n-2', 'wrong', 'again', 'short', 'long', null, null])
  expect(reply.body.errors[2].errorMessage).toContain('country')
  expect(reply.body.errors[7].errorMessage).toContain('domains[0]')
  expect(await countIn(realm)).toBe(2 + 3)
})

test('an external id that only a bad row had is still free', async () => {
  const reply = await upload('commonName;externalId;country\na;X;XX\nb;X;DE\nc;X;DE\n')
  expect([namesOf(reply), errorsOf(reply)]).toEqual([
    ['b'],
    [
      [2, 'VALIDATION_FAILED'],
      [4, 'ALREADY_EXISTS'],
    ],
  ])
})

test('a table of bad rows is 201 and makes nothing, and so is a header without rows', async () => {
  const reply = await upload('commonName;country\na;XX\n')
  expect([reply.status, reply.body.total, reply.body.imported, reply.body.endEntities]).toEqual([201, 1, 0, []])
  expect((await upload('commonName')).body).toEqual({ total: 0, imported: 0, endEntities: [], errors: [] })
})

test('a dry run tells what would be and stores nothing', async () => {
  const realm = await someRealm()
  await makeEndEntity(api.em(), realm, { externalId: 'taken' })
  const csv = 'commonName;externalId\na;1\nb;1\nc;taken\nd;2\n'
  const user = await creatorIn(realm)
  const { status, body } = await user.post(`${path}?dryRun=true`, { realmId: realm.id, csv })
  expect([status, body.total, body.imported, body.endEntities]).toEqual([201, 4, 2, []])
  expect(body.errors.map(({ line }: { line: number }) => line)).toEqual([3, 4])
  expect(await countIn(realm)).toBe(1)
  expect((await user.post(`${path}?dryRun=false`, { realmId: realm.id, csv })).body.imported).toBe(2)
  expect(refusalOf(await user.post(`${path}?dryRun=yes`, { realmId: realm.id, csv }))).toEqual([400, 'INVALID_REQUEST'])
})

describe('with a policy', () => {
  const rules = {
    endEntityStrategy: 'EMAIL',
    endEntityRules: [{ property: 'GENERIC', genericKey: 'room', requirement: 'REQUIRED', pattern: '[A-Z] \\d+' }],
  } as unknown as Partial<Policy>

  test('rows must satisfy its strategy and rules', async () => {
    const realm = await someRealm()
    const policy = await makePolicy(api.em(), realm, rules)
    const user = await api.user({ REALM: { [realm.id]: ['ENDENTITIES_CREATE', 'POLICIES_READ'] } })
    const csv = 'commonName;email;generic.room\na;a@b.example;B 12\nb;;B 12\nc;c@b.example;12\nd;d@b.example;\n'
    const reply = await user.post(path, { realmId: realm.id, policyId: policy.id, csv })
    expect([reply.status, namesOf(reply)]).toEqual([201, ['a']])
    expect(errorsOf(reply)).toEqual([3, 4, 5].map(line => [line, 'END_ENTITY_RULE_VIOLATION']))
    expect(reply.body.errors[0].errorMessage).toContain('EMAIL')
    expect(reply.body.errors[1].errorMessage).toContain('room')
  })

  test('is refused when it is of another realm, archived, unknown or out of reach', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const [foreign, gone] = [await makePolicy(api.em(), other), await makePolicy(api.em(), realm, { archived: true })]
    const user = await api.user({
      REALM: { [realm.id]: ['ENDENTITIES_CREATE', 'POLICIES_READ'], [other.id]: ['POLICIES_READ'] },
    })
    const send = async (policyId: string, by = user) =>
      refusalOf(await by.post(path, { realmId: realm.id, policyId, csv: 'commonName\na' }))
    expect(await send(foreign.id)).toEqual([422, 'REALM_MISMATCH'])
    expect(await send(gone.id)).toEqual([422, 'ENTITY_ARCHIVED'])
    expect(await send(randomUUID())).toEqual([404, 'POLICY_NOT_FOUND'])
    const mine = await makePolicy(api.em(), realm)
    const creator = await api.user({ REALM: { [realm.id]: ['ENDENTITIES_CREATE'] } })
    expect(await send(mine.id, creator)).toEqual([403, 'ACCESS_DENIED'])
    expect(await countIn(realm)).toBe(0)
  })
})

test.each([
  ['no header', '\n\n'],
  ['an unknown column', 'commonName;colour\na;b\n'],
  ['a repeated column', 'commonName;COMMONNAME\na;b\n'],
  ['a stray quote in its header', 'common"Name;email\na;b\n'],
  ['a quote that is not closed', 'commonName\n"a\nb\n'],
  ['text behind a quote', 'commonName\n"a"b\n'],
])('a table with %s is INVALID_CSV and makes nothing', async (_, csv) => {
  const realm = await someRealm()
  const reply = await (await creatorIn(realm)).post(path, { realmId: realm.id, csv })
  expect([...refusalOf(reply), await countIn(realm)]).toEqual([422, 'INVALID_CSV', 0])
})

test('bytes that are not UTF-8 are INVALID_CSV', async () => {
  const csvBase64 = Buffer.from('commonName\nJürgen', 'latin1').toString('base64')
  expect(refusalOf(await upload('', { csv: null, csvBase64 }))).toEqual([422, 'INVALID_CSV'])
})

test.each<[string, object]>([
  ['neither text nor bytes', { csv: undefined }],
  ['empty text', { csv: '' }],
  ['both text and bytes', { csv: 'commonName', csvBase64: 'YQ==' }],
  ['no Base64', { csv: undefined, csvBase64: '§' }],
  ['no text', { csv: 7 }],
])('%s is a malformed request', async (_, members) => {
  expect(refusalOf(await upload('', members))).toEqual([400, 'INVALID_REQUEST'])
})

test('is refused without the right, with it in another realm, and in an archived or unknown realm', async () => {
  const [realm, other] = [await someRealm(), await makeRealm(api.em(), { archived: true })]
  const send = async (user: Awaited<ReturnType<typeof creatorIn>>, realmId: string) =>
    refusalOf(await user.post(path, { realmId, csv: 'commonName\na' }))
  const reader = await api.user({ REALM: { [realm.id]: ['FULL_READ', 'UPDATE', 'POLICIES_CREATE'] } })
  const creator = await creatorIn(other)
  expect(await send(reader, realm.id)).toEqual([403, 'ACCESS_DENIED'])
  expect(await send(creator, realm.id)).toEqual([403, 'ACCESS_DENIED'])
  expect(await send(creator, other.id)).toEqual([422, 'ENTITY_ARCHIVED'])
  expect(await send(creator, randomUUID())).toEqual([404, 'REALM_NOT_FOUND'])
})

test('uploads that share external ids at the same time make each end entity once', async () => {
  const realm = await someRealm()
  const user = await creatorIn(realm)
  const ids = Array.from({ length: 300 }, (_, index) => `id-${String(index).padStart(3, '0')}`)
  const send = (order: readonly string[]) =>
    user.post(path, { realmId: realm.id, csv: `externalId\n${order.join('\n')}\n` })
  const single = user.post('/api/v1/end-entities', { realmId: realm.id, externalId: 'id-150' })
  const replies = await Promise.all([send(ids), send(ids.toReversed()), send(ids), send(ids.toReversed())])
  const { status } = await single
  expect(replies.map(reply => reply.status)).toEqual([201, 201, 201, 201])
  const made = replies.reduce((sum, { body }) => sum + body.imported, 0)
  expect([made + (status === 201 ? 1 : 0), await countIn(realm)]).toEqual([300, 300])
  for (const { body } of replies) {
    expect(body.imported + body.errors.length).toBe(300)
    expect(new Set(body.errors.map(({ apiError }: { apiError: string }) => apiError)).size).toBeLessThan(2)
  }
})

const wide = (index: number) =>
  `web-${index};Example Ltd;Unit ${index % 7};DE;A-${index};ops-${index}@example.org;` +
  `web-${index}.example.org|www-${index}.example.org;192.0.2.${index % 256};Room ${index};${index % 9}`

test('10,000 rows are one call, whose answer holds them all in order; one more is too many', async () => {
  const header =
    'commonName;organization;organizationalUnit;country;externalId;email;domains;ips;generic.room;generic.floor'
  const rows = Array.from({ length: 10_001 }, (_, index) => wide(index))
  const realm = await someRealm()
  const user = await creatorIn(realm)
  const table = (count: number) => [header, ...rows.slice(0, count)].join('\n')
  const start = performance.now()
  const { status, body } = await user.post(path, { realmId: realm.id, csv: table(10_000) })
  process.stdout.write(`10,000 end entities from CSV in ${Math.round(performance.now() - start)} ms\n`)
  expect([status, body.total, body.imported, body.errors]).toEqual([201, 10_000, 10_000, []])
  const numbers = body.endEntities.map(({ externalId }: { externalId: string }) => Number(externalId.slice(2)))
  expect(numbers).toEqual(Array.from({ length: 10_000 }, (_, index) => index))
  expect(await countIn(realm)).toBe(10_000)
  expect(await api.em().count(AuditEvent, { realmId: realm.id, eventType: 'ENTITY_CREATED' })).toBe(10_000)
  expect(await api.em().count(PermissionGrant, { principalId: user.id, scope: 'END_ENTITY' })).toBe(10_000)
  const tooMany = await user.post(path, { realmId: realm.id, csv: table(10_001) })
  expect(refusalOf(tooMany)).toEqual([400, 'REQUEST_TOO_LARGE'])
}, 60_000)
