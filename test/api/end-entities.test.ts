// Creating and reading end entities.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { startApi, type Api } from '../support/api.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const path = '/api/v1/end-entities'
const someRealm = () => makeRealm(api.em())
const holderOf = (realm: Realm, ...permissions: string[]) => api.user({ REALM: { [realm.id]: permissions } })
const idsOf = (body: { content: { id: string }[] }) => body.content.map(({ id }) => id)

test.each([
  ['post', path],
  ['post', `${path}/search`],
  ['get', `${path}/${randomUUID()}`],
  ['get', `${path}/realms/${randomUUID()}/externals/x`],
] as const)('%s %s asks for a token', async (method, url) => {
  expect((await api.anonymous[method](url)).status).toBe(401)
})

describe('createNewEndEntity', () => {
  test('makes an end entity in canonical form, grants it to its maker and records it', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'ENDENTITIES_CREATE')
    const { status, body } = await user.post(path, {
      realmId: realm.id,
      commonName: 'web-01',
      country: 'de',
      email: 'Ops@EXAMPLE.org',
      domains: ['WEB-01.example.org'],
      ips: ['2001:DB8::0010'],
      genericDtoList: [{ key: 'room', value: 'B 12' }],
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      realmId: realm.id,
      alias: null,
      commonName: 'web-01',
      organization: null,
      country: 'DE',
      email: 'Ops@example.org',
      domains: ['web-01.example.org'],
      ips: ['2001:db8::10'],
      genericDtoList: [{ key: 'room', value: 'B 12' }],
      userId: null,
      metadata: { version: 1, createdBy: user.id },
    })
    expect((await user.get(`${path}/${body.id}`)).body).toEqual(body)
    const event = await api.em().findOneOrFail(AuditEvent, { objectId: body.id })
    expect([event.eventType, event.realmId]).toEqual(['ENTITY_CREATED', realm.id])
    expect(event.eventDescription).toMatch(/^End entity web-01 created by .+@example\.com$/)
  })

  test.each([['FULL_READ'], ['UPDATE'], ['POLICIES_CREATE']])('is refused with %s alone', async permission => {
    const realm = await someRealm()
    const user = await holderOf(realm, permission)
    expect((await user.post(path, { realmId: realm.id, commonName: 'a' })).status).toBe(403)
  })

  test('is refused to those with rights in another realm only', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const user = await holderOf(other, 'ENDENTITIES_CREATE')
    const { status, body } = await user.post(path, { realmId: realm.id, commonName: 'a' })
    expect([status, body.apiError]).toEqual([403, 'ACCESS_DENIED'])
  })

  test.each<[string, object, number, string]>([
    ['nothing that names it', { organization: 'x' }, 422, 'VALIDATION_FAILED'],
    ['a bad country', { commonName: 'a', country: 'XX' }, 422, 'VALIDATION_FAILED'],
    ['a long common name', { commonName: 'x'.repeat(65) }, 422, 'VALIDATION_FAILED'],
    ['a bad domain', { domains: ['no_good'] }, 422, 'VALIDATION_FAILED'],
    ['an unknown realm', { realmId: randomUUID() }, 404, 'REALM_NOT_FOUND'],
    ['no realm', { realmId: undefined }, 400, 'INVALID_REQUEST'],
    ['a malformed realm', { realmId: 'x' }, 400, 'INVALID_IDENTIFIER'],
    ['domains that are no list', { domains: 'a.example' }, 400, 'INVALID_REQUEST'],
  ])('refuses %s', async (...[, members, status, apiError]) => {
    const realm = await someRealm()
    const reply = await (await holderOf(realm, 'ENDENTITIES_CREATE')).post(path, { realmId: realm.id, ...members })
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })

  test('an external id belongs to one living end entity of a realm', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    await makeEndEntity(api.em(), other, { externalId: 'A-1' })
    await makeEndEntity(api.em(), realm, { externalId: 'A-1', archived: true })
    const user = await holderOf(realm, 'ENDENTITIES_CREATE')
    expect((await user.post(path, { realmId: realm.id, externalId: 'A-1' })).status).toBe(201)
    const { status, body } = await user.post(path, { realmId: realm.id, externalId: 'A-1' })
    expect([status, body.apiError]).toEqual([422, 'ALREADY_EXISTS'])
  })

  test('an archived realm takes none', async () => {
    const realm = await makeRealm(api.em(), { archived: true })
    const user = await holderOf(realm, 'ENDENTITIES_CREATE')
    const { status, body } = await user.post(path, { realmId: realm.id, commonName: 'a' })
    expect([status, body.apiError]).toEqual([422, 'ENTITY_ARCHIVED'])
  })
})

describe('getEndEntity', () => {
  test('is read with a realm right or one of its own, and with nothing else', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const { id } = await makeEndEntity(api.em(), realm)
    const url = `${path}/${id}`
    expect((await (await holderOf(realm, 'ENDENTITIES_READ')).get(url)).status).toBe(200)
    expect((await (await api.user({ END_ENTITY: { [id]: ['DELETE'] } })).get(url)).status).toBe(200)
    expect((await (await holderOf(realm, 'READ')).get(url)).status).toBe(403)
    expect((await (await holderOf(other, 'FULL_READ')).get(url)).status).toBe(403)
  })

  test('an unknown id is 404', async () => {
    const { status, body } = await (await api.user()).get(`${path}/${randomUUID()}`)
    expect([status, body.apiError]).toEqual([404, 'END_ENTITY_NOT_FOUND'])
  })
})

describe('getEndEntityByRealmIdAndExternalId', () => {
  const find = (realm: Realm, externalId: string) =>
    `${path}/realms/${realm.id}/externals/${encodeURIComponent(externalId)}`

  test('finds the one of that realm', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const { id } = await makeEndEntity(api.em(), realm, { externalId: 'A 47/11' })
    await makeEndEntity(api.em(), other, { externalId: 'A 47/11' })
    const { status, body } = await (await holderOf(realm, 'ENDENTITIES_READ')).get(find(realm, 'A 47/11'))
    expect([status, body.id]).toEqual([200, id])
    expect((await (await holderOf(other, 'FULL_READ')).get(find(realm, 'A 47/11'))).status).toBe(403)
  })

  test('ids that differ in case or Unicode form are two', async () => {
    const realm = await makeRealm(api.em())
    const user = await api.user({ REALM: { [realm.id]: ['FULL_READ', 'ENDENTITIES_CREATE'] } })
    for (const externalId of ['caf\u00e9', 'cafe\u0301', 'CAF\u00c9']) {
      const { status, body } = await user.post(path, { realmId: realm.id, externalId })
      expect([status, (await user.get(find(realm, externalId))).body.id]).toEqual([201, body.id])
    }
  })

  test('an unknown one is 404, an archived one 409', async () => {
    const realm = await someRealm()
    await makeEndEntity(api.em(), realm, { externalId: 'gone', archived: true })
    const user = await holderOf(realm, 'FULL_READ')
    const [unknown, gone] = [await user.get(find(realm, 'x')), await user.get(find(realm, 'gone'))]
    expect([unknown.status, unknown.body.apiError]).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    expect([gone.status, gone.body.apiError]).toEqual([409, 'ENTITY_ARCHIVED'])
  })
})

describe('searchEndEntities', () => {
  const search = `${path}/search`

  test('finds by every searched field, and by id', async () => {
    const realm = await someRealm()
    const made = await makeEndEntity(api.em(), realm, {
      commonName: 'Alpha_1',
      organization: 'Beta',
      organizationalUnit: 'Gamma',
      externalId: 'Delta',
      email: 'epsilon@example.org',
      domains: ['zeta.example'],
      ips: ['192.0.2.77'],
    })
    await makeEndEntity(api.em(), realm)
    await api.em().nativeUpdate(EndEntity, { id: made.id }, { alias: 'Kappa' })
    const user = await holderOf(realm, 'ENDENTITIES_READ')
    for (const text of ['alpha_', 'BETA', 'gam', 'delta', 'epsilon@', 'zeta', '2.77', 'kappa', made.id]) {
      const { status, body } = await user.post(search, { realmId: realm.id, simpleSearchTerm: text })
      expect([status, idsOf(body)]).toEqual([200, [made.id]])
    }
    expect((await user.post(search, { realmId: realm.id, simpleSearchTerm: '%' })).body.totalElements).toBe(0)
    expect((await user.post(search, { realmId: realm.id, simpleSearchTerm: ' ' })).body.totalElements).toBe(2)
  })

  test('narrows by ids and archive', async () => {
    const realm = await someRealm()
    const [a, gone] = [await makeEndEntity(api.em(), realm), await makeEndEntity(api.em(), realm, { archived: true })]
    await makeEndEntity(api.em(), realm)
    const user = await holderOf(realm, 'FULL_READ')
    const wanted = { realmId: realm.id, endEntityIds: [a.id, gone.id, randomUUID()] }
    expect(idsOf((await user.post(search, wanted)).body)).toEqual([a.id])
    expect(idsOf((await user.post(search, { ...wanted, archived: true })).body)).toEqual([gone.id])
  })

  test('keeps those that satisfy the rules of a policy', async () => {
    const realm = await someRealm()
    const policy = await makePolicy(api.em(), realm, {
      endEntityStrategy: 'EMAIL',
      endEntityRules: [{ property: 'EMAIL', requirement: 'REQUIRED', pattern: '.+@example\\.org' }],
    })
    const fits = await makeEndEntity(api.em(), realm, { email: 'a@example.org' })
    await makeEndEntity(api.em(), realm, { email: 'a@example.com' })
    await makeEndEntity(api.em(), realm)
    const user = await holderOf(realm, 'FULL_READ')
    const { body } = await user.post(search, { realmId: realm.id, policyId: policy.id })
    expect(idsOf(body)).toEqual([fits.id])
    const ee = await holderOf(realm, 'ENDENTITIES_READ')
    expect((await ee.post(search, { realmId: realm.id, policyId: policy.id })).status).toBe(403)
    const foreign = await makePolicy(api.em(), await someRealm())
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const mismatch = await admin.post(search, { realmId: realm.id, policyId: foreign.id })
    expect([mismatch.status, mismatch.body.apiError]).toEqual([422, 'REALM_MISMATCH'])
  })

  test('lists only what the caller may read', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const mine = await makeEndEntity(api.em(), realm)
    await makeEndEntity(api.em(), realm)
    const user = await api.user({ END_ENTITY: { [mine.id]: ['READ'] } })
    const { body } = await user.post(search, { realmId: realm.id })
    expect([idsOf(body), body.totalElements]).toEqual([[mine.id], 1])
    const creator = await holderOf(realm, 'ENDENTITIES_CREATE')
    expect((await creator.post(search, { realmId: realm.id })).body.totalElements).toBe(0)
    const outsider = await holderOf(other, 'FULL_READ')
    expect((await outsider.post(search, { realmId: realm.id })).status).toBe(403)
  })

  test.each(['commonName', 'alias', 'email', 'externalId', 'country', 'metadata.lastModifiedDate'])(
    'is sorted by %s',
    async property => {
      const realm = await someRealm()
      const user = await holderOf(realm, 'FULL_READ')
      expect((await user.post(`${search}?sort=${property}`, { realmId: realm.id })).status).toBe(200)
    },
  )

  test('an unknown realm or policy is 404', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'FULL_READ')
    expect((await user.post(search, { realmId: randomUUID() })).body.apiError).toBe('REALM_NOT_FOUND')
    const unknown = await user.post(search, { realmId: realm.id, policyId: randomUUID() })
    expect([unknown.status, unknown.body.apiError]).toEqual([404, 'POLICY_NOT_FOUND'])
  })
})
