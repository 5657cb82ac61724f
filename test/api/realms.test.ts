// Creating, reading, listing and updating realms.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { User } from '../../storage/rows/user.ts'
import { startApi, type Api } from '../support/api.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const path = '/api/v1/realms'
const named = () => ({ name: `Realm ${randomUUID()}` })
const founder = () => api.user({ GLOBAL: ['REALMS_CREATE'] })
const someRealm = () => makeRealm(api.em())
const holderOf = (realm: Realm, ...permissions: string[]) => api.user({ REALM: { [realm.id]: permissions } })

test.each([
  ['get', path],
  ['get', `${path}/${randomUUID()}`],
  ['get', `${path}/${randomUUID()}/authorized-users`],
  ['post', path],
  ['patch', `${path}/${randomUUID()}`],
] as const)('%s %s asks for a token', async (method, url) => {
  const { status, body } = await api.anonymous[method](url)
  expect([status, body.apiError]).toEqual([401, 'AUTHENTICATION_FAILED'])
})

describe('createNewRealm', () => {
  test('makes a realm, grants it to its maker and records it', async () => {
    const user = await founder()
    const { name } = named()
    const { status, body } = await user.post(path, { name: ` ${name} ` })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      name,
      mailingListId: null,
      systemRealm: false,
      archiveInfo: { archived: false, archivedDate: null },
      metadata: { version: 1, createdBy: user.id, createdByType: 'USER' },
    })
    const { body: read } = await user.get(`${path}/${body.id}`)
    expect(read).toEqual(body)
    const renamed = await user.patch(`${path}/${body.id}`, named())
    expect(renamed.status).toBe(200)
    const events = await api.em().find(AuditEvent, { objectId: body.id }, { orderBy: { id: 'asc' } })
    expect(events.map(({ eventType, realmId, principalId }) => [eventType, realmId, principalId])).toEqual([
      ['ENTITY_CREATED', body.id, user.id],
      ['ENTITY_UPDATED', body.id, user.id],
    ])
  })

  test('needs REALMS_CREATE', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'UPDATE', 'FULL_READ')
    const { status, body } = await user.post(path, named())
    expect([status, body.apiError]).toEqual([403, 'ACCESS_DENIED'])
  })

  test('takes a name once, in whatever case', async () => {
    const user = await founder()
    const { name } = named()
    await user.post(path, { name })
    const { status, body } = await user.post(path, { name: name.toUpperCase() })
    expect([status, body.apiError]).toEqual([409, 'ALREADY_EXISTS'])
  })

  test('an archived realm does not keep its name', async () => {
    const { name } = await makeRealm(api.em(), { archived: true })
    expect((await (await founder()).post(path, { name })).status).toBe(201)
  })

  test('knows no mailing list', async () => {
    const { status, body } = await (await founder()).post(path, { ...named(), mailingListId: randomUUID() })
    expect([status, body.apiError]).toEqual([404, 'MAILING_LIST_NOT_FOUND'])
  })

  test.each([{}, { name: '' }, { name: 7 }, { name: 'x'.repeat(256) }, { name: 'a\u0000b' }])(
    'refuses the shape %j',
    async given => {
      const { status, body } = await (await founder()).post(path, given)
      expect([status, body.apiError]).toEqual([400, 'INVALID_REQUEST'])
    },
  )

  test('takes JSON only', async () => {
    const user = await founder()
    const { status } = await user.post(path, undefined, { raw: 'name=x', headers: { 'Content-Type': 'text/plain' } })
    expect(status).toBe(415)
  })

  test('nothing is left behind by a refusal', async () => {
    const { name } = await someRealm()
    const before = await api.em().count(AuditEvent)
    await (await founder()).post(path, { name })
    expect(await api.em().count(AuditEvent)).toBe(before)
  })
})

describe('getRealm', () => {
  test.each(['READ', 'FULL_READ', 'CERTS_READ'])('is read with %s', async permission => {
    const realm = await someRealm()
    const { status, body } = await (await holderOf(realm, permission)).get(`${path}/${realm.id.toUpperCase()}`)
    expect([status, body.id]).toEqual([200, realm.id])
  })

  test('is refused to those with rights in another realm only', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const { status, body } = await (await holderOf(other, 'FULL_READ', 'UPDATE')).get(`${path}/${realm.id}`)
    expect([status, body.apiError]).toEqual([403, 'ACCESS_DENIED'])
  })

  test('an archived realm stays readable', async () => {
    const realm = await makeRealm(api.em(), { archived: true })
    const { body } = await (await holderOf(realm, 'READ')).get(`${path}/${realm.id}`)
    expect(body.archiveInfo.archived).toBe(true)
  })

  test('an unknown id is 404, a malformed one 400', async () => {
    const user = await api.user({ GLOBAL: ['ADMIN'] })
    const unknown = await user.get(`${path}/${randomUUID()}`)
    expect([unknown.status, unknown.body.apiError]).toEqual([404, 'REALM_NOT_FOUND'])
    const malformed = await user.get(`${path}/seven`)
    expect([malformed.status, malformed.body.apiError]).toEqual([400, 'INVALID_IDENTIFIER'])
  })
})

describe('getRealms', () => {
  test('lists what the caller may read and nothing else', async () => {
    const [a, b, gone] = [await someRealm(), await someRealm(), await makeRealm(api.em(), { archived: true })]
    await someRealm()
    const user = await api.user({ REALM: { [a.id]: ['READ'], [b.id]: ['POLICIES_CREATE'], [gone.id]: ['READ'] } })
    const { body } = await user.get(`${path}?sort=metadata.createdDate,asc`)
    expect(body.content.map(({ id }: Realm) => id)).toEqual([a.id, b.id])
    expect(body).toMatchObject({ totalElements: 2, totalPages: 1, number: 0, size: 20, first: true, last: true })
    const archived = await user.get(`${path}?archived=true`)
    expect(archived.body.content.map(({ id }: Realm) => id)).toEqual([gone.id])
  })

  test('lists nothing without a grant, and everything for REALMS_FULL_READ', async () => {
    await someRealm()
    expect((await (await api.user()).get(path)).body).toMatchObject({ content: [], totalElements: 0, empty: true })
    const reader = await api.user({ GLOBAL: ['REALMS_FULL_READ'] })
    const count = await api.em().count(Realm, { archived: false })
    expect((await reader.get(`${path}?size=1`)).body).toMatchObject({ totalElements: count, numberOfElements: 1 })
  })

  test.each(['name', 'systemRealm', 'id', 'mailingListId', 'createdBy'])('is sorted by %s', async property => {
    expect((await (await founder()).get(`${path}?sort=${property},desc`)).status).toBe(200)
  })

  test.each(['sort=color', 'size=0', 'size=1001', 'page=-1', 'archived=yes'])('refuses %s', async query => {
    expect((await (await founder()).get(`${path}?${query}`)).status).toBe(400)
  })
})

describe('updateRealm', () => {
  test('renames with UPDATE and counts the version', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'UPDATE')
    const { name } = named()
    const { status, body } = await user.patch(`${path}/${realm.id}`, { name, version: 1 })
    expect(status).toBe(200)
    expect(body).toMatchObject({ name, metadata: { version: 2, lastModifiedBy: user.id } })
  })

  test.each(['FULL_READ', 'DELETE', 'POLICIES_CREATE'])('is refused with %s alone', async permission => {
    const realm = await someRealm()
    expect((await (await holderOf(realm, permission)).patch(`${path}/${realm.id}`, named())).status).toBe(403)
  })

  test('is refused to those with rights in another realm only', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    expect((await (await holderOf(other, 'UPDATE')).patch(`${path}/${realm.id}`, named())).status).toBe(403)
  })

  test.each<[string, (realm: Realm) => Promise<[Realm, object]>, number, string]>([
    ['an old version', async realm => [realm, { version: 7 }], 409, 'VERSION_CONFLICT'],
    ['a taken name', async realm => [realm, { name: (await someRealm()).name }], 409, 'ALREADY_EXISTS'],
    ['no name', async realm => [realm, { name: null }], 400, 'INVALID_REQUEST'],
    ['an unknown list', async realm => [realm, { mailingListId: randomUUID() }], 404, 'MAILING_LIST_NOT_FOUND'],
    ['an archived realm', async () => [await makeRealm(api.em(), { archived: true }), named()], 409, 'ENTITY_ARCHIVED'],
  ])('refuses %s', async (...[, prepare, status, apiError]) => {
    const [realm, change] = await prepare(await someRealm())
    const reply = await (await holderOf(realm, 'UPDATE')).patch(`${path}/${realm.id}`, change)
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })

  test('nothing said changes nothing but tells so', async () => {
    const realm = await someRealm()
    const { body } = await (await holderOf(realm, 'UPDATE')).patch(`${path}/${realm.id}`, { mailingListId: null })
    expect(body.name).toBe(realm.name)
  })
})

describe('getAuthorizedUsers', () => {
  const listed = async (realm: Realm) => {
    const { status, body } = await (
      await holderOf(realm, 'UPDATE')
    ).get(`${path}/${realm.id}/authorized-users?size=500`)
    expect(status).toBe(200)
    return body.content.map(({ id }: User) => id) as string[]
  }

  test('names users with a grant on the realm or in it, and those who may read everything', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const policy = await makePolicy(api.em(), realm)
    const endEntity = await makeEndEntity(api.em(), realm)
    const within = [
      await holderOf(realm, 'CERTS_READ'),
      await api.user({ POLICY: { [policy.id]: ['SIGN'] } }),
      await api.user({ END_ENTITY: { [endEntity.id]: ['READ'] } }),
      await api.user({ GLOBAL: ['ADMIN'] }),
      await api.user({ GLOBAL: ['REALMS_FULL_READ'] }),
    ]
    const outside = [await api.user(), await holderOf(other, 'UPDATE'), await api.user({ GLOBAL: ['USERS_READ'] })]
    const ids = await listed(realm)
    expect(ids).toEqual(expect.arrayContaining(within.map(({ id }) => id)))
    for (const { id } of outside) expect(ids).not.toContain(id)
  })

  test('answers null for a name or address that is not known', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'READ')
    await api.em().nativeUpdate(User, { id: user.id }, { firstName: null, lastName: null, email: null })
    const url = `${path}/${realm.id}/authorized-users?size=500`
    const { body } = await (await holderOf(realm, 'UPDATE')).get(url)
    const found = body.content.find(({ id }: User) => id === user.id)
    expect(found).toEqual({ id: user.id, firstName: null, lastName: null, email: null })
  })

  test('leaves out the disabled', async () => {
    const realm = await someRealm()
    const user = await holderOf(realm, 'READ')
    await api.em().nativeUpdate(User, { id: user.id }, { enabled: false })
    expect(await listed(realm)).not.toContain(user.id)
  })

  test('needs UPDATE on that realm', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const url = `${path}/${realm.id}/authorized-users`
    expect((await (await holderOf(realm, 'FULL_READ')).get(url)).status).toBe(403)
    expect((await (await holderOf(other, 'UPDATE')).get(url)).status).toBe(403)
  })
})
