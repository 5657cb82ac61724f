// Reading and replacing grants (contract 7.3).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { loadGrants, replaceGrants } from '../../storage/grant.ts'
import { lockRow } from '../../storage/lock.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { User } from '../../storage/rows/user.ts'
import { giveGrants, startApi, type Api } from '../support/api.ts'
import { until } from '../support/issuing.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm, makeRequest } from '../support/records.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const path = '/api/v1/permissions'
const someRealm = () => makeRealm(api.em())
const admin = () => api.user({ GLOBAL: ['ADMIN'] })
const held = async (principalId: string, id: string) =>
  (await api.em().findOne(PermissionGrant, { principalId, resourceId: id }))?.permissions.toSorted() ?? []
const onRealm = (principalId: string, id: string, given: string[]) => ({
  principalId,
  principalType: 'USER',
  realmPermissions: [{ id, permissions: given }],
})

test.each([
  ['get', `${path}/users/${randomUUID()}`],
  ['get', `${path}/api-clients/${randomUUID()}`],
  ['patch', `${path}/global`],
  ['patch', `${path}/realms`],
  ['patch', `${path}/policies`],
  ['patch', `${path}/end-entities`],
  ['patch', `${path}/cert-requests`],
  ['patch', `${path}/certificates`],
] as const)('%s %s asks for a token', async (method, url) => {
  expect((await api.anonymous[method](url)).status).toBe(401)
})

describe('reading grants', () => {
  test('a principal reads its own, with the names of the resources', async () => {
    const realm = await someRealm()
    const policy = await makePolicy(api.em(), realm)
    const endEntity = await makeEndEntity(api.em(), realm)
    const client = await api.apiClient({
      GLOBAL: ['REALMS_CREATE'],
      REALM: { [realm.id]: ['READ', 'CERTS_READ'] },
      POLICY: { [policy.id]: ['SIGN'] },
      END_ENTITY: { [endEntity.id]: ['UPDATE'] },
    })
    const { status, body } = await client.get(`${path}/api-clients/${client.id}`)
    expect(status).toBe(200)
    expect(body).toEqual({
      principalId: client.id,
      principalType: 'API_CLIENT',
      globalPermissions: ['REALMS_CREATE'],
      realmPermissions: [
        { id: realm.id, name: realm.name, permissions: expect.arrayContaining(['READ', 'CERTS_READ']) },
      ],
      policyPermissions: [{ id: policy.id, name: policy.name, permissions: ['SIGN'] }],
      endEntityPermissions: [{ id: endEntity.id, name: endEntity.commonName, permissions: ['UPDATE'] }],
      certRequestPermissions: [],
      certificatePermissions: [],
    })
  })

  test('those of others take the global permission of their kind', async () => {
    const [user, client] = [await api.user(), await api.apiClient()]
    const [ofUser, ofClient] = [`${path}/users/${user.id}`, `${path}/api-clients/${client.id}`]
    const usersReader = await api.user({ GLOBAL: ['USERS_READ'] })
    const clientsReader = await api.user({ GLOBAL: ['APICLIENTS_READ'] })
    expect((await usersReader.get(ofUser)).status).toBe(200)
    expect((await usersReader.get(ofClient)).status).toBe(403)
    expect((await clientsReader.get(ofClient)).status).toBe(200)
    expect((await clientsReader.get(ofUser)).status).toBe(403)
    expect((await (await admin()).get(ofUser)).status).toBe(200)
    const realm = await someRealm()
    const elsewhere = await api.user({ REALM: { [realm.id]: ['FULL_READ', 'UPDATE'] } })
    expect((await elsewhere.get(ofUser)).status).toBe(403)
  })

  test('there are at most so many in an answer, and a header tells how many there are', async () => {
    const [realm, user] = [await someRealm(), await api.user()]
    const ids = Array.from({ length: 1003 }, () => randomUUID())
    await api.em().execute(
      `insert into end_entity (id, created_by_type, created_date, last_modified_by_type, last_modified_date, realm_id, generic_dto_list)
       select id, 'SYSTEM', now(), 'SYSTEM', now(), ?, '[]' from unnest(?::uuid[]) id`,
      [realm.id, `{${ids.join(',')}}`],
    )
    await giveGrants(api.em(), user.id, {
      END_ENTITY: Object.fromEntries(ids.map(id => [id, ['READ']])),
      REALM: { [realm.id]: ['READ'] },
    })
    const read = async (query = '') => {
      const { status, body, headers } = await user.get(`${path}/users/${user.id}${query}`)
      const found: string[] = body.endEntityPermissions?.map(({ id }: { id: string }) => id) ?? []
      return { status, found, realms: body.realmPermissions?.length, totals: headers.get('Grant-Totals') }
    }
    const first = await read()
    expect([first.status, first.found.length, first.realms]).toEqual([200, 1000, 1])
    expect(first.totals).toBe('REALM=1, POLICY=0, END_ENTITY=1003, CERT_REQUEST=0, CERTIFICATE=0')
    const second = await read('?page=1')
    expect([second.found.length, second.realms]).toEqual([3, 0])
    expect([...first.found, ...second.found].toSorted()).toEqual(ids.toSorted())
    expect((await read('?page=400&size=2')).found).toEqual(ids.toSorted().slice(800, 802))
    for (const query of ['?size=1001', '?size=0', '?page=-1']) expect((await read(query)).status).toBe(400)
  })

  test('an unknown principal is the 404 of its kind', async () => {
    const user = await api.user()
    const reader = await admin()
    expect((await reader.get(`${path}/users/${randomUUID()}`)).body.apiError).toBe('USER_NOT_FOUND')
    expect((await reader.get(`${path}/api-clients/${user.id}`)).body.apiError).toBe('API_CLIENT_NOT_FOUND')
  })
})

describe('updateGlobalPermissions', () => {
  const given = (principalId: string, wanted: string[]) => ({
    principalId,
    principalType: 'USER',
    permissions: wanted,
  })

  test('replaces the set, removes it when empty and records it', async () => {
    const [user, boss] = [await api.user({ GLOBAL: ['USERS_READ'] }), await admin()]
    const { status, body } = await boss.patch(`${path}/global`, given(user.id, ['REALMS_CREATE', 'REALMS_CREATE']))
    expect([status, body]).toEqual([204, ''])
    expect(await held(user.id, user.id)).toEqual(['REALMS_CREATE'])
    expect((await boss.patch(`${path}/global`, given(user.id, []))).status).toBe(204)
    expect(await held(user.id, user.id)).toEqual([])
    const events = await api.em().find(AuditEvent, { objectId: user.id, eventType: 'PERMISSIONS_UPDATED' })
    expect(events.map(({ principalId }) => principalId)).toEqual([boss.id, boss.id])
  })

  test('takes ADMIN, whatever else the caller holds', async () => {
    const realm = await someRealm()
    const user = await api.user({ GLOBAL: ['USERS_UPDATE', 'REALMS_FULL_READ'], REALM: { [realm.id]: ['UPDATE'] } })
    expect((await user.patch(`${path}/global`, given(user.id, ['ADMIN']))).status).toBe(403)
    expect((await user.patch(`${path}/global`, given(randomUUID(), ['ADMIN']))).status).toBe(403)
  })

  test.each<[string, object, number, string]>([
    ['an unknown user', { principalId: randomUUID() }, 404, 'USER_NOT_FOUND'],
    ['an unknown client', { principalType: 'API_CLIENT' }, 404, 'API_CLIENT_NOT_FOUND'],
    ['the service itself', { principalType: 'SYSTEM' }, 400, 'INVALID_REQUEST'],
    ['a permission of another scope', { permissions: ['FULL_READ'] }, 400, 'INVALID_REQUEST'],
    ['no set', { permissions: null }, 400, 'INVALID_REQUEST'],
  ])('refuses %s', async (...[, members, status, apiError]) => {
    const user = await api.user()
    const reply = await (await admin()).patch(`${path}/global`, { ...given(user.id, []), ...members })
    expect([reply.status, reply.body.apiError]).toEqual([status, apiError])
  })

  test('the last enabled holder keeps ADMIN', async () => {
    const em = api.em()
    await em.nativeDelete(PermissionGrant, { scope: 'GLOBAL' })
    const [boss, disabled] = [await admin(), await admin()]
    await em.nativeUpdate(User, { id: disabled.id }, { enabled: false })
    const { status, body } = await boss.patch(`${path}/global`, given(boss.id, ['USERS_READ']))
    expect([status, body.apiError]).toEqual([400, 'LAST_ADMIN'])
    expect((await boss.patch(`${path}/global`, given(disabled.id, []))).status).toBe(204)
    const client = await api.apiClient({ GLOBAL: ['ADMIN'] })
    expect((await boss.patch(`${path}/global`, given(boss.id, []))).status).toBe(204)
    await giveGrants(em, boss.id, { GLOBAL: ['ADMIN'] })
    expect((await client.patch(`${path}/global`, given(boss.id, []))).status).toBe(204)
  })

  test('two holders who take ADMIN from each other at once leave one', async () => {
    const em = api.em()
    await em.nativeDelete(PermissionGrant, { scope: 'GLOBAL' })
    const [one, other] = [await api.user(), await api.user()]
    for (let round = 0; round < 20; round++) {
      for (const { id } of [one, other]) await giveGrants(em, id, { GLOBAL: ['ADMIN'] })
      await Promise.all([
        one.patch(`${path}/global`, given(other.id, [])),
        other.patch(`${path}/global`, given(one.id, [])),
      ])
      expect(await em.count(PermissionGrant, { scope: 'GLOBAL' })).toBe(1)
    }
  })
})

describe('grants on a realm', () => {
  const url = `${path}/realms`

  test('ADMIN gives and takes anything; other resources stay', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const user = await api.user({ REALM: { [realm.id]: ['READ'], [other.id]: ['READ'] } })
    expect((await (await admin()).patch(url, onRealm(user.id, realm.id, ['UPDATE', 'DELETE']))).status).toBe(204)
    expect(await held(user.id, realm.id)).toEqual(['DELETE', 'UPDATE'])
    expect(await held(user.id, other.id)).toEqual(['READ'])
    expect((await (await admin()).patch(url, onRealm(user.id, realm.id, []))).status).toBe(204)
    expect(await held(user.id, realm.id)).toEqual([])
    const [event] = await api.em().find(AuditEvent, { objectId: user.id, eventType: 'PERMISSIONS_UPDATED' })
    expect(event?.realmId).toBe(realm.id)
  })

  test.each<[string[], string[], string[], number]>([
    [['UPDATE', 'CERTS_READ'], [], ['CERTS_READ'], 204],
    [['UPDATE', 'CERTS_READ'], [], ['UPDATE', 'READ'], 204],
    [['UPDATE', 'FULL_READ'], [], ['POLICIES_READ', 'CERTREQS_READ'], 204],
    [['UPDATE', 'CERTS_READ'], [], ['POLICIES_READ'], 403],
    [['UPDATE'], [], ['FULL_READ'], 403],
    [['UPDATE'], ['DELETE', 'POLICIES_CREATE'], ['DELETE'], 204],
    [['UPDATE'], ['DELETE'], [], 204],
    [['FULL_READ', 'CERTS_READ'], [], ['CERTS_READ'], 403],
  ])('the holder of %j changes %j to %j: %i', async (...[own, before, after, status]) => {
    const realm = await someRealm()
    const caller = await api.user({ REALM: { [realm.id]: own } })
    const receiver = await api.user({ REALM: { [realm.id]: before } })
    expect((await caller.patch(url, onRealm(receiver.id, realm.id, after))).status).toBe(status)
    expect(await held(receiver.id, realm.id)).toEqual((status === 204 ? after : before).toSorted())
  })

  test('rights in another realm give nothing to hand out', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const caller = await api.user({ REALM: { [other.id]: ['UPDATE', 'FULL_READ'], [realm.id]: ['FULL_READ'] } })
    const { status, body } = await caller.patch(url, onRealm(caller.id, realm.id, ['READ']))
    expect([status, body.apiError]).toEqual([403, 'ACCESS_DENIED'])
  })

  test('a resource that is named twice is refused, and what changes nothing leaves no trace', async () => {
    const [realm, user, by] = [await someRealm(), await api.user(), await admin()]
    const change = onRealm(user.id, realm.id, ['READ'])
    const twice = {
      ...change,
      realmPermissions: [...change.realmPermissions, { id: realm.id.toUpperCase(), permissions: [] }],
    }
    const refused = await by.patch(`${path}/realms`, twice)
    expect([refused.status, refused.body.apiError]).toEqual([400, 'INVALID_REQUEST'])
    expect(refused.body.fieldErrors).toEqual([{ field: 'realmPermissions', message: 'must name each resource once' }])
    for (const _ of [1, 2]) expect((await by.patch(`${path}/realms`, change)).status).toBe(204)
    const wide = { principalId: user.id, principalType: 'USER', permissions: ['REALMS_CREATE'] }
    for (const _ of [1, 2]) expect((await by.patch(`${path}/global`, wide)).status).toBe(204)
    expect(await held(user.id, realm.id)).toEqual(['READ'])
    expect(await api.em().count(AuditEvent, { objectId: user.id, eventType: 'PERMISSIONS_UPDATED' })).toBe(2)
  })

  test('one call is atomic', async () => {
    const [realm, other] = [await someRealm(), await someRealm()]
    const caller = await api.user({ REALM: { [realm.id]: ['UPDATE'] } })
    const receiver = await api.user()
    const sets = [realm, other].map(({ id }) => ({ id, permissions: ['UPDATE'] }))
    const body = { principalId: receiver.id, principalType: 'USER', realmPermissions: sets }
    expect((await caller.patch(url, body)).status).toBe(403)
    expect(await held(receiver.id, realm.id)).toEqual([])
  })

  test('what is archived gets no new grants, but those it has can be taken away', async () => {
    const realm = await makeRealm(api.em(), { archived: true })
    const [user, boss] = [await api.user({ REALM: { [realm.id]: ['READ', 'DELETE'] } }), await admin()]
    const { status, body } = await boss.patch(url, onRealm(user.id, realm.id, ['READ', 'UPDATE']))
    expect([status, body.apiError]).toEqual([400, 'ENTITY_ARCHIVED'])
    const outsider = await api.user({ REALM: { [(await someRealm()).id]: ['UPDATE'] } })
    expect((await outsider.patch(url, onRealm(user.id, realm.id, ['UPDATE']))).status).toBe(403)
    expect((await boss.patch(url, onRealm(user.id, realm.id, ['READ']))).status).toBe(204)
    expect((await boss.patch(url, onRealm(user.id, realm.id, []))).status).toBe(204)
    expect(await held(user.id, realm.id)).toEqual([])
  })

  test('a set can be large, and replaces, gives and takes at once', async () => {
    const em = api.em()
    const realms = Array.from({ length: 1500 }, () => em.create(Realm, { name: `Many ${randomUUID()}` }))
    await em.flush()
    const ids = realms.map(({ id }) => id)
    const user = await api.user({ REALM: Object.fromEntries(ids.slice(0, 3).map(id => [id, ['READ']])) })
    const realmPermissions = ids.map((id, at) => ({ id, permissions: at === 0 ? [] : ['UPDATE', 'DELETE'] }))
    const body = { principalId: user.id, principalType: 'USER', realmPermissions }
    expect((await (await admin()).patch(url, body)).status).toBe(204)
    expect(await held(user.id, ids[0] ?? '')).toEqual([])
    const grants = await em.find(PermissionGrant, { principalId: user.id })
    expect(grants).toHaveLength(ids.length - 1)
    expect(new Set(grants.map(grant => grant.permissions.toSorted().join()))).toEqual(new Set(['DELETE,UPDATE']))
  })

  test('what is taken away meanwhile is not kept by who could not give it', async () => {
    const realm = await someRealm()
    const caller = await api.user({ REALM: { [realm.id]: ['UPDATE'] } })
    const receiver = await api.user({ REALM: { [realm.id]: ['DELETE'] } })
    const em = api.em()
    const call = await em.transactional(async transaction => {
      await lockRow(transaction, User, receiver.id)
      const grants = [{ id: realm.id, permissions: [] }]
      await replaceGrants(transaction, receiver.id, { scope: 'REALM', grants })
      const running = caller.patch(url, onRealm(receiver.id, realm.id, ['DELETE']))
      const waiting = `select 1 from pg_locks where not granted`
      await until('the call waits', async () => (await api.em().execute<unknown[]>(waiting)).length > 0)
      return { running }
    })
    expect((await call.running).status).toBe(403)
    expect(await held(receiver.id, realm.id)).toEqual([])
  })

  test('what is unknown is 404, what has no shape 400', async () => {
    const [realm, user, boss] = [await someRealm(), await api.user(), await admin()]
    const codeOf = async (body: object) => (await boss.patch(url, body)).body.apiError
    expect(await codeOf(onRealm(user.id, randomUUID(), ['READ']))).toBe('REALM_NOT_FOUND')
    expect(await codeOf(onRealm(randomUUID(), realm.id, ['READ']))).toBe('USER_NOT_FOUND')
    expect(await codeOf(onRealm(user.id, realm.id, ['SIGN']))).toBe('INVALID_REQUEST')
    expect(await codeOf({ ...onRealm(user.id, realm.id, []), realmPermissions: [] })).toBe('INVALID_REQUEST')
  })
})

describe('grants on what is in a realm', () => {
  const scopes = [
    ['policies', 'policyPermissions', 'POLICY', 'POLICY_NOT_FOUND'],
    ['end-entities', 'endEntityPermissions', 'END_ENTITY', 'END_ENTITY_NOT_FOUND'],
    ['cert-requests', 'certRequestPermissions', 'CERT_REQUEST', 'CERT_REQUEST_NOT_FOUND'],
    ['certificates', 'certificatePermissions', 'CERTIFICATE', 'CERTIFICATE_NOT_FOUND'],
  ] as const
  const other = { POLICY: 'UPDATE', END_ENTITY: 'UPDATE', CERT_REQUEST: 'UPDATE', CERTIFICATE: 'REVOKE' } as const
  const makers = {
    POLICY: (realm: Realm) => makePolicy(api.em(), realm),
    END_ENTITY: (realm: Realm) => makeEndEntity(api.em(), realm),
    CERT_REQUEST: async (realm: Realm) =>
      makeRequest(api.em(), await makers.POLICY(realm), await makers.END_ENTITY(realm)),
    CERTIFICATE: async (realm: Realm) =>
      makeCertificate(api.em(), await makers.POLICY(realm), { endEntity: await makers.END_ENTITY(realm) }),
  }

  test.each(scopes)(
    '%s: UPDATE on the realm and the own permission are needed',
    async (...[part, member, scope, code]) => {
      const realm = await someRealm()
      const { id } = await makers[scope](realm)
      const receiver = await api.user()
      const send = (caller: { patch: Api['anonymous']['patch'] }, permission: string, target = id) =>
        caller.patch(`${path}/${part}`, {
          principalId: receiver.id,
          principalType: 'USER',
          [member]: [{ id: target, permissions: [permission] }],
        })
      const able = await api.user({ REALM: { [realm.id]: ['UPDATE'] }, [scope]: { [id]: ['DELETE'] } })
      expect((await send(able, other[scope])).status).toBe(403)
      expect((await send(able, 'DELETE')).status).toBe(204)
      expect([...(await loadGrants(api.em(), receiver.id, [{ [scope]: id }])).on(scope, id)]).toEqual(['DELETE'])
      const withoutRealm = await api.user({ [scope]: { [id]: ['DELETE'] } })
      expect((await send(withoutRealm, 'DELETE')).status).toBe(403)
      const elsewhere = await api.user({
        REALM: { [(await someRealm()).id]: ['UPDATE'] },
        [scope]: { [id]: ['DELETE'] },
      })
      expect((await send(elsewhere, 'DELETE')).status).toBe(403)
      expect((await send(await admin(), other[scope])).status).toBe(204)
      const unknown = await send(await admin(), 'READ', randomUUID())
      expect([unknown.status, unknown.body.apiError]).toEqual([404, code])
    },
  )
})
