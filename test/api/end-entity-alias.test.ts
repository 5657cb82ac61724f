// Setting the alias of an end entity (contract 5.3).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { setAliases } from '../../storage/aliases.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { startApi, type Api } from '../support/api.ts'
import { refusalOf, statusesOf } from '../support/issuing.ts'
import { makeEndEntity, makeRealm } from '../support/records.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const urlOf = (id: string) => `/api/v1/end-entities/${id}/alias`

/** A realm with two end entities, and who may change them. */
const pair = async () => {
  const realm = await makeRealm(api.em())
  const [one, other] = [await makeEndEntity(api.em(), realm), await makeEndEntity(api.em(), realm)]
  const owner = await api.user({ END_ENTITY: { [one.id]: ['UPDATE'], [other.id]: ['UPDATE'] } })
  return { realm, one, other, owner }
}

test('asks for a token', async () => {
  expect((await api.anonymous.patch(urlOf(randomUUID()), { alias: 'a' })).status).toBe(401)
})

test('sets the alias as it was written, trimmed, and records it', async () => {
  const { realm, one, owner } = await pair()
  const { status, body } = await owner.patch(urlOf(one.id), { alias: '  Web  01 ', version: 1 })
  expect([status, body.id, body.alias, body.metadata.version]).toEqual([200, one.id, 'Web  01', 2])
  expect(body.metadata.lastModifiedBy).toBe(owner.id)
  expect((await owner.get(`/api/v1/end-entities/${one.id}`)).body).toEqual(body)
  const event = await api.em().findOneOrFail(AuditEvent, { objectId: one.id, eventType: 'ENTITY_UPDATED' })
  expect([event.realmId, event.principalId]).toEqual([realm.id, owner.id])
})

test('an alias belongs to one living end entity of a realm, without case and with white space collapsed', async () => {
  const { one, other, owner } = await pair()
  expect((await owner.patch(urlOf(one.id), { alias: 'Web 01' })).status).toBe(200)
  for (const alias of ['Web 01', 'WEB 01', 'web   01'])
    expect(refusalOf(await owner.patch(urlOf(other.id), { alias }))).toEqual([409, 'ALREADY_EXISTS'])
  expect((await owner.get(`/api/v1/end-entities/${other.id}`)).body).toMatchObject({
    alias: null,
    metadata: { version: 1 },
  })
  expect((await owner.patch(urlOf(other.id), { alias: 'Web01' })).status).toBe(200)
})

test('its own alias may be set again, in other letters as well', async () => {
  const { one, owner } = await pair()
  for (const alias of ['web 01', 'web 01', 'WEB 01'])
    expect((await owner.patch(urlOf(one.id), { alias })).body.alias).toBe(alias)
})

test.each([
  ['the common name', { commonName: 'Caf\u00e9 01' }, 'cafe\u0301  01'],
  ['the external id', { externalId: 'A-4711' }, 'a-4711'],
  ['the e-mail address', { email: 'ops@example.org' }, 'OPS@example.org'],
  ['the first domain', { domains: ['a.example.org', 'b.example.org'] }, 'A.example.org'],
  ['the first address', { ips: ['2001:db8::a'] }, '2001:DB8::A'],
  ['the subject DN', { commonName: 'Web 01', organization: 'A, B', country: 'DE' }, 'CN=web  01,O=a\\, b,C=de'],
])('%s of another end entity is no alias, however it is written', async (_, members, alias) => {
  const { realm, one, owner } = await pair()
  const victim = await makeEndEntity(api.em(), realm, members)
  const refused = await owner.patch(urlOf(one.id), { alias })
  expect(refusalOf(refused)).toEqual([409, 'ALREADY_EXISTS'])
  expect(refused.body.fieldErrors).toMatchObject([{ field: 'alias' }])
  const itself = await api.user({ END_ENTITY: { [victim.id]: ['UPDATE'] } })
  expect((await itself.patch(urlOf(victim.id), { alias })).status).toBe(200)
  await api.em().nativeUpdate(EndEntity, { id: victim.id }, { archived: true })
  expect((await owner.patch(urlOf(one.id), { alias })).status).toBe(200)
})

test('the first issue gives no alias by which another end entity is known', async () => {
  const realm = await makeRealm(api.em())
  const make = (commonName: string) => makeEndEntity(api.em(), realm, { commonName })
  const [twin, single] = [await make('twin'), await make('single')]
  await make('Twin')
  const wanted = [twin, single].map(({ id, commonName }) => ({ id, realmId: realm.id, alias: commonName ?? '' }))
  await api.em().transactional(em => setAliases(em, wanted, new Date()))
  const rows = await api.em().find(EndEntity, { id: { $in: [twin.id, single.id] } }, { orderBy: { commonName: 'asc' } })
  expect(rows.map(({ alias }) => alias)).toEqual(['single', null])
})

test('many first aliases are set by one statement, however little PostgreSQL knows of the table', async () => {
  const realm = await makeRealm(api.em())
  const rows = await api.em().execute<{ id: string; alias: string }[]>(
    `insert into end_entity (id, created_by_type, created_date, last_modified_by_type, last_modified_date, realm_id,
       common_name, email, domains, ips, generic_dto_list)
     select gen_random_uuid(), 'SYSTEM', now(), 'SYSTEM', now(), ?, 'host-' || n, 'mail-' || n || '@example.org',
       array['host-' || n || '.example.org'], array['2001:db8::' || n], '[]' from generate_series(1, 1000) n
     returning id, common_name as alias`,
    [realm.id],
  )
  const wanted = rows.map(row => ({ ...row, realmId: realm.id }))
  await api.em().transactional(em => setAliases(em, wanted, new Date()))
  expect(await api.em().count(EndEntity, { realmId: realm.id, alias: { $ne: null } })).toBe(1000)
})

test('a composed and a decomposed letter are one', async () => {
  const { one, other, owner } = await pair()
  expect((await owner.patch(urlOf(one.id), { alias: 'Stra\u00dfe \u00c4' })).status).toBe(200)
  expect(refusalOf(await owner.patch(urlOf(other.id), { alias: 'stra\u00dfe A\u0308' }))).toEqual([
    409,
    'ALREADY_EXISTS',
  ])
})

test('the same alias again changes nothing: neither version nor audit log', async () => {
  const { one, owner } = await pair()
  await owner.patch(urlOf(one.id), { alias: 'web 01' })
  const { body } = await owner.patch(urlOf(one.id), { alias: 'web 01' })
  expect(body.metadata.version).toBe(2)
  expect(await api.em().count(AuditEvent, { objectId: one.id, eventType: 'ENTITY_UPDATED' })).toBe(1)
})

test('an alias of an archived end entity or of another realm is free', async () => {
  const { realm, one, owner } = await pair()
  const [gone, away] = [await makeEndEntity(api.em(), realm), await makeEndEntity(api.em(), await makeRealm(api.em()))]
  await api
    .em()
    .execute(`update end_entity set alias = 'taken', archived = id = ? where id = any(?::uuid[])`, [
      gone.id,
      `{${gone.id},${away.id}}`,
    ])
  expect((await owner.patch(urlOf(one.id), { alias: 'taken' })).status).toBe(200)
})

test('two who set the same alias at once do not both get it', async () => {
  const { one, other, owner } = await pair()
  const replies = await Promise.all([one, other].map(({ id }) => owner.patch(urlOf(id), { alias: 'wanted' })))
  expect(statusesOf(replies)).toEqual([200, 409])
})

test('an archived end entity keeps its alias', async () => {
  const realm = await makeRealm(api.em())
  const { id } = await makeEndEntity(api.em(), realm, { archived: true })
  const owner = await api.user({ END_ENTITY: { [id]: ['UPDATE'] } })
  expect(refusalOf(await owner.patch(urlOf(id), { alias: 'a' }))).toEqual([409, 'ENTITY_ARCHIVED'])
})

test('UPDATE on the end entity is needed; no right on its realm stands in for it', async () => {
  const { realm, one } = await pair()
  const others = [
    await api.user({ END_ENTITY: { [one.id]: ['READ', 'DELETE'] } }),
    await api.user({ REALM: { [realm.id]: ['FULL_READ', 'UPDATE', 'ENDENTITIES_CREATE', 'ENDENTITIES_READ'] } }),
    await api.user({ REALM: { [(await makeRealm(api.em())).id]: ['FULL_READ', 'UPDATE'] } }),
  ]
  for (const other of others)
    expect(refusalOf(await other.patch(urlOf(one.id), { alias: 'a' }))).toEqual([403, 'ACCESS_DENIED'])
})

test.each<[string, object, number, string]>([
  ['another version', { alias: 'a', version: 2 }, 409, 'VERSION_CONFLICT'],
  ['no alias', {}, 400, 'INVALID_REQUEST'],
  ['null', { alias: null }, 400, 'INVALID_REQUEST'],
  ['a blank alias', { alias: ' ' }, 400, 'INVALID_REQUEST'],
  ['a long alias', { alias: 'x'.repeat(256) }, 400, 'INVALID_REQUEST'],
  ['a control character', { alias: 'a\tb' }, 400, 'INVALID_REQUEST'],
])('refuses %s', async (...[, body, status, apiError]) => {
  const { one, owner } = await pair()
  expect(refusalOf(await owner.patch(urlOf(one.id), body))).toEqual([status, apiError])
})

test('takes 255 characters, and an unknown end entity is 404', async () => {
  const { one, owner } = await pair()
  expect((await owner.patch(urlOf(one.id), { alias: 'x'.repeat(255) })).status).toBe(200)
  expect(refusalOf(await owner.patch(urlOf(randomUUID()), { alias: 'a' }))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
})
