// API clients through HTTP: with the identity provider that gives their tokens (contract 1.5, 6.2, 7.2, 12).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { DeletedClient } from '../../storage/rows/deleted-client.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { factsOf, refusalOf, statusesOf } from '../support/issuing.ts'
import { openIdentities, type Identities } from '../support/identities.ts'
import { asMachine, clientsPath as path, isAccepted, makeMachine, realToken } from '../support/machines.ts'
import { makePolicy, makeRealm } from '../support/records.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

type User = Awaited<ReturnType<Service['user']>>

let service: Service
let scene: Scene
let admin: User
/** Holds what it takes, and no more. */
let manager: User
let store: Identities

beforeAll(async () => {
  service = await startService()
  store = await openIdentities()
  scene = await makeScene(service)
  admin = await service.user({ GLOBAL: ['ADMIN'] })
  manager = await service.user({
    GLOBAL: ['APICLIENTS_CREATE', 'APICLIENTS_READ', 'APICLIENTS_UPDATE', 'APICLIENTS_DELETE'],
    REALM: { [scene.realmId]: ['FULL_READ', 'ENDENTITIES_CREATE'] },
    POLICY: { [scene.policyId]: ['CERTS_CREATE', 'SIGN'] },
  })
}, 120_000)
afterAll(async () => {
  await store.close()
  await service.stop()
})

const newBody = (more: object = {}) => ({ name: `Robot ${randomUUID()}`, realmIds: [scene.realmId], ...more })
const otherRealm = async () => {
  const em = service.em()
  const realm = await makeRealm(em)
  return { realm, policy: await makePolicy(em, realm) }
}
const grantsOf = async (principalId: string): Promise<string[]> =>
  (await service.em().find(PermissionGrant, { principalId }))
    .map(({ scope, resourceId, permissions }) => `${scope} ${resourceId} ${permissions.toSorted().join(',')}`)
    .toSorted()

describe('createNewApiClient', () => {
  test('makes a client that gets a token with its secret and may do exactly what it was granted', async () => {
    const made = await makeMachine(manager, scene)
    expect(made).toMatchObject({
      realmIds: [scene.realmId],
      defaultPolicyId: scene.policyId,
      defaultPolicyName: expect.any(String),
      enabled: true,
      metadata: { version: 1, createdBy: manager.id, createdByType: 'USER' },
    })
    expect(await grantsOf(made.id)).toEqual([
      `POLICY ${scene.policyId} CERTS_CREATE,READ,SIGN`,
      `REALM ${scene.realmId} ENDENTITIES_CREATE,FULL_READ`,
    ])
    const machine = await asMachine(service, made)
    expect((await machine.get('/api/v1/authenticated-principal')).body).toEqual({
      id: made.id,
      authenticatedPrincipalType: 'API_CLIENT',
      name: made.name,
      globalPermissions: [],
    })
    const endEntity = { realmId: scene.realmId, commonName: `host-${randomUUID().slice(0, 8)}.example.org` }
    const { body: entity } = await machine.post('/api/v1/end-entities', endEntity)
    const request = {
      policyId: scene.policyId,
      endEntityId: entity.id,
      validFor: 'SIX_MONTHS',
      keyPairMode: 'SERVER_GEN',
      keyGenParamsDto: { cryptoAlgorithm: 'EC' },
    }
    expect((await machine.post('/api/v1/cert-requests', request)).status).toBe(201)
    expect((await machine.get(`/api/v1/realms/${scene.realmId}`)).status).toBe(200)
    expect((await machine.patch(`/api/v1/realms/${scene.realmId}`, { name: 'Mine' })).status).toBe(403)
    expect((await machine.patch(`/api/v1/policies/${scene.policyId}`, { name: 'Mine' })).status).toBe(403)
    expect((await machine.get(`/api/v1/realms/${(await otherRealm()).realm.id}`)).status).toBe(403)
    expect((await machine.post(`${path}/search`, {})).status).toBe(403)
    expect((await machine.get(`${path}/${made.id}`)).status).toBe(200)
  })

  test('gives a client id that people recognize, and records who made it', async () => {
    const name = `Bücherei / Drucker №1 ${randomUUID()}`
    const made = await makeMachine(manager, scene, { name })
    expect(made.providerId).toMatch(/^bucherei-drucker-no1-[a-z0-9-]+-[0-9a-f]{8}$/)
    expect(made.providerId.endsWith(made.id.slice(0, 8))).toBe(true)
    expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED'])
    expect(await store.findClient(made.providerId)).toMatchObject({ name, attributes: { 'certwright.id': made.id } })
  })

  test('tells the secret only once, and keeps it nowhere', async () => {
    const made = await makeMachine(manager, scene)
    expect(Buffer.from(made.secret, 'base64url')).toHaveLength(32)
    const { body } = await manager.get(`${path}/${made.id}`)
    const { secret: _, ...shown } = made
    expect(body).toEqual(shown)
    const rows = await service
      .em()
      .execute('select row_to_json(c)::text as row from api_client c where id = ?', [made.id])
    expect(JSON.stringify(rows)).not.toContain(made.secret)
  })

  test('a default policy is not needed', async () => {
    const made = await makeMachine(manager, scene, { defaultPolicyId: null })
    expect(made).toMatchObject({ defaultPolicyId: null, defaultPolicyName: null })
    expect(await grantsOf(made.id)).toEqual([`REALM ${scene.realmId} ENDENTITIES_CREATE,FULL_READ`])
  })

  test('is refused without a token and without the right', async () => {
    expect((await service.anonymous.post(path, newBody())).status).toBe(401)
    expect(refusalOf(await scene.owner.post(path, newBody()))).toEqual([403, 'ACCESS_DENIED'])
  })

  test.each([
    ['FULL_READ', { REALM: ['ENDENTITIES_CREATE'], POLICY: ['CERTS_CREATE', 'SIGN'] }],
    ['ENDENTITIES_CREATE', { REALM: ['FULL_READ'], POLICY: ['CERTS_CREATE', 'SIGN'] }],
    ['CERTS_CREATE', { REALM: ['FULL_READ', 'ENDENTITIES_CREATE'], POLICY: ['SIGN'] }],
    ['SIGN', { REALM: ['FULL_READ', 'ENDENTITIES_CREATE'], POLICY: ['CERTS_CREATE'] }],
  ])('nobody gives %s who does not hold it', async (permission, { REALM, POLICY }) => {
    const poor = await service.user({
      GLOBAL: ['APICLIENTS_CREATE'],
      REALM: { [scene.realmId]: REALM },
      POLICY: { [scene.policyId]: POLICY },
    })
    const { status, body } = await poor.post(path, newBody({ defaultPolicyId: scene.policyId }))
    expect([status, body.apiError]).toEqual([403, 'ACCESS_DENIED'])
    expect(body.errorMessage).toContain(permission)
  })

  test.each([
    ['an unknown realm', { realmIds: [randomUUID()] }, 404, 'REALM_NOT_FOUND'],
    ['an unknown policy', { defaultPolicyId: randomUUID() }, 404, 'POLICY_NOT_FOUND'],
    ['no realm', { realmIds: [] }, 400, 'INVALID_REQUEST'],
    ['a blank name', { name: ' ' }, 400, 'INVALID_REQUEST'],
    ['an id that is none', { realmIds: ['x'] }, 400, 'INVALID_IDENTIFIER'],
  ])('%s is refused', async (_, more, ...refusal) => {
    expect(refusalOf(await admin.post(path, newBody(more)))).toEqual(refusal)
  })

  test('a body that is not JSON is refused', async () => {
    const extras = { raw: 'name=x', headers: { 'Content-Type': 'text/plain' } }
    expect(refusalOf(await admin.post(path, undefined, extras))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test('a name that is taken is refused before the identity provider hears of it', async () => {
    const { name } = await makeMachine(manager, scene)
    const { status, body } = await manager.post(path, newBody({ name }))
    expect([status, body.apiError, body.fieldErrors]).toEqual([
      409,
      'ALREADY_EXISTS',
      [{ field: 'name', message: 'is taken' }],
    ])
  })

  test('a default policy of another realm is refused', async () => {
    const { policy } = await otherRealm()
    expect(refusalOf(await admin.post(path, newBody({ defaultPolicyId: policy.id })))).toEqual([422, 'REALM_MISMATCH'])
  })

  test('archived realms and policies are refused', async () => {
    const { realm, policy } = await otherRealm()
    await service.em().nativeUpdate(Policy, { id: policy.id }, { archived: true })
    const body = newBody({ realmIds: [realm.id], defaultPolicyId: policy.id })
    expect(refusalOf(await admin.post(path, body))).toEqual([409, 'ENTITY_ARCHIVED'])
    await service.em().nativeUpdate(Realm, { id: realm.id }, { archived: true })
    expect(refusalOf(await admin.post(path, newBody({ realmIds: [realm.id] })))).toEqual([409, 'ENTITY_ARCHIVED'])
  })

  test('of several calls with one name exactly one makes a client, and the others leave nothing', async () => {
    const body = newBody()
    const replies = await Promise.all([1, 2, 3].map(() => manager.post(path, body)))
    expect(statusesOf(replies)).toEqual([201, 409, 409])
    const clients = await store.listClients(0, 10_000)
    expect(clients.filter(({ name }) => name === body.name)).toHaveLength(1)
    expect(await service.em().count(ApiClient, { name: body.name })).toBe(1)
  })
})

describe('updateApiClient', () => {
  test('renames at both sides and keeps the client id', async () => {
    const made = await makeMachine(manager, scene)
    const name = `Renamed ${randomUUID()}`
    const { status, body } = await manager.patch(`${path}/${made.id}`, { name, version: 1 })
    expect([status, body.name, body.providerId, body.metadata.version]).toEqual([200, name, made.providerId, 2])
    expect((await store.findClient(made.providerId))?.name).toBe(name)
    expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED', 'ENTITY_UPDATED'])
    expect(await isAccepted(made, made.secret)).toBe(true)
  })

  test('disabled, it is refused at once with the token that it has, and gets no other; enabled, it is back', async () => {
    const made = await makeMachine(manager, scene)
    const machine = await asMachine(service, made)
    expect((await machine.get('/api/v1/authenticated-principal')).status).toBe(200)
    expect((await manager.patch(`${path}/${made.id}`, { enabled: false })).body.enabled).toBe(false)
    expect(refusalOf(await machine.get('/api/v1/authenticated-principal'))).toEqual([401, 'PRINCIPAL_DISABLED'])
    expect(await isAccepted(made, made.secret)).toBe(false)
    expect((await manager.patch(`${path}/${made.id}`, { enabled: true })).body.enabled).toBe(true)
    expect((await machine.get('/api/v1/authenticated-principal')).status).toBe(200)
    expect(await isAccepted(made, made.secret)).toBe(true)
  })

  test('a new realm brings its grants, and a lost one takes all grants in it', async () => {
    const { realm, policy } = await otherRealm()
    const made = await makeMachine(admin, scene)
    const gained = { realmIds: [scene.realmId, realm.id], defaultPolicyId: policy.id }
    expect((await admin.patch(`${path}/${made.id}`, gained)).body).toMatchObject(gained)
    expect(await grantsOf(made.id)).toEqual(
      [
        `POLICY ${policy.id} CERTS_CREATE,READ,SIGN`,
        `POLICY ${scene.policyId} CERTS_CREATE,READ,SIGN`,
        `REALM ${realm.id} ENDENTITIES_CREATE,FULL_READ`,
        `REALM ${scene.realmId} ENDENTITIES_CREATE,FULL_READ`,
      ].toSorted(),
    )
    const machine = await asMachine(service, made)
    const entity = { realmId: scene.realmId, commonName: `lost-${randomUUID()}`.slice(0, 40) }
    expect((await machine.post('/api/v1/end-entities', entity)).status).toBe(201)
    await admin.patch(`${path}/${made.id}`, { realmIds: [realm.id] })
    expect(await grantsOf(made.id)).toEqual([
      `POLICY ${policy.id} CERTS_CREATE,READ,SIGN`,
      `REALM ${realm.id} ENDENTITIES_CREATE,FULL_READ`,
    ])
    expect((await machine.get(`/api/v1/realms/${scene.realmId}`)).status).toBe(403)
  })

  test('what is added must be held, what is there already need not', async () => {
    const { realm, policy } = await otherRealm()
    const made = await makeMachine(admin, scene, { realmIds: [scene.realmId, realm.id], defaultPolicyId: null })
    const stays = { realmIds: [realm.id, scene.realmId], defaultPolicyId: scene.policyId }
    expect((await manager.patch(`${path}/${made.id}`, stays)).status).toBe(200)
    const url = `${path}/${made.id}`
    expect(refusalOf(await manager.patch(url, { defaultPolicyId: policy.id }))).toEqual([403, 'ACCESS_DENIED'])
    const other = (await otherRealm()).realm.id
    expect(refusalOf(await manager.patch(url, { realmIds: [scene.realmId, other] }))).toEqual([403, 'ACCESS_DENIED'])
  })

  test('what changes nothing is no change', async () => {
    const made = await makeMachine(manager, scene)
    const same = { name: made.name, enabled: true, realmIds: [scene.realmId], defaultPolicyId: scene.policyId }
    const { status, body } = await manager.patch(`${path}/${made.id}`, same)
    expect([status, body.metadata.version]).toEqual([200, 1])
    expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED'])
  })

  test('is refused without a token, without the right, for an unknown client', async () => {
    const made = await makeMachine(manager, scene)
    expect((await service.anonymous.patch(`${path}/${made.id}`, { enabled: false })).status).toBe(401)
    expect((await scene.owner.patch(`${path}/${made.id}`, { enabled: false })).status).toBe(403)
    const unknown = await manager.patch(`${path}/${randomUUID()}`, { enabled: false })
    expect(refusalOf(unknown)).toEqual([404, 'API_CLIENT_NOT_FOUND'])
    expect((await manager.get(`${path}/${made.id}`)).body.enabled).toBe(true)
  })

  test.each([
    ['another version', { version: 7, enabled: false }, 409, 'VERSION_CONFLICT'],
    ['null for the name', { name: null }, 400, 'INVALID_REQUEST'],
    ['no realm', { realmIds: [] }, 400, 'INVALID_REQUEST'],
    ['an unknown realm', { realmIds: [randomUUID()] }, 404, 'REALM_NOT_FOUND'],
  ])('%s is refused', async (_, change, ...refusal) => {
    const made = await makeMachine(manager, scene)
    expect(refusalOf(await manager.patch(`${path}/${made.id}`, change))).toEqual(refusal)
  })

  test('a taken name, and a realm less than the default policy needs, are refused', async () => {
    const [one, two] = [await makeMachine(admin, scene), await makeMachine(admin, scene)]
    expect(refusalOf(await admin.patch(`${path}/${one.id}`, { name: two.name }))).toEqual([409, 'ALREADY_EXISTS'])
    const { realm } = await otherRealm()
    const change = { realmIds: [realm.id] }
    expect(refusalOf(await admin.patch(`${path}/${one.id}`, change))).toEqual([422, 'REALM_MISMATCH'])
    expect((await store.findClient(one.providerId))?.name).toBe(one.name)
  })

  test('changes at the same time are made one after the other', async () => {
    const made = await makeMachine(admin, scene)
    const names = ['A', 'B', 'C'].map(letter => `${letter} ${randomUUID()}`)
    const replies = await Promise.all(names.map(name => admin.patch(`${path}/${made.id}`, { name })))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    const { body } = await admin.get(`${path}/${made.id}`)
    expect(body.metadata.version).toBe(4)
    expect((await store.findClient(made.providerId))?.name).toBe(body.name)
  })
})

describe('resetApiClientSecret', () => {
  test('gives a new secret; the old one dies at once', async () => {
    const made = await makeMachine(manager, scene)
    const { status, body } = await manager.post(`${path}/${made.id}/reset-secret`)
    expect([status, body]).toEqual([200, { id: made.id, providerId: made.providerId, secret: expect.any(String) }])
    expect(await isAccepted(made, body.secret)).toBe(true)
    expect(await isAccepted(made, made.secret)).toBe(false)
    expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED', 'SECRET_RESET'])
    expect((await manager.get(`${path}/${made.id}`)).body.metadata.version).toBe(1)
  })

  test('a client may reset its own, and nobody else without the right', async () => {
    const [made, other] = [await makeMachine(manager, scene), await makeMachine(manager, scene)]
    const machine = await asMachine(service, made)
    expect((await machine.post(`${path}/${made.id}/reset-secret`)).status).toBe(200)
    expect(refusalOf(await machine.post(`${path}/${other.id}/reset-secret`))).toEqual([403, 'ACCESS_DENIED'])
    expect((await service.anonymous.post(`${path}/${made.id}/reset-secret`)).status).toBe(401)
    expect(refusalOf(await manager.post(`${path}/${randomUUID()}/reset-secret`))).toEqual([404, 'API_CLIENT_NOT_FOUND'])
    expect(await isAccepted(other, other.secret)).toBe(true)
  })
})

describe('deleteApiClient', () => {
  test('takes client and grants; its tokens are refused and do not bring it back', async () => {
    const made = await makeMachine(manager, scene)
    const machine = service.as(await realToken(made, made.secret))
    const entity = { realmId: scene.realmId, commonName: `kept-${randomUUID()}`.slice(0, 40) }
    const { body: kept } = await machine.post('/api/v1/end-entities', entity)
    const before = await store.findClient(made.providerId)
    expect((await manager.delete(`${path}/${made.id}?version=1`)).status).toBe(204)
    expect(refusalOf(await machine.get('/api/v1/authenticated-principal'))).toEqual([401, 'AUTHENTICATION_FAILED'])
    expect(await isAccepted(made, made.secret)).toBe(false)
    expect(before).toBeDefined()
    expect(await store.findClient(made.providerId)).toBeUndefined()
    expect(await service.em().count(ApiClient, { providerId: made.providerId })).toBe(0)
    expect(await grantsOf(made.id)).toEqual([])
    expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED', 'ENTITY_DELETED'])
    expect((await scene.owner.get(`/api/v1/end-entities/${kept.id}`)).body.metadata.createdBy).toBe(made.id)
    expect(refusalOf(await manager.get(`${path}/${made.id}`))).toEqual([404, 'API_CLIENT_NOT_FOUND'])
  })

  test('a token that was made long after the deletion makes a new record, as any unknown client does', async () => {
    const clientId = `again-${randomUUID()}`
    const em = service.em()
    em.create(DeletedClient, { providerId: clientId, deletedDate: new Date(Date.now() - 120_000) })
    await em.flush()
    const machine = service.as(await service.issuer.clientToken(clientId))
    expect((await machine.get('/api/v1/authenticated-principal')).status).toBe(200)
  })

  test('the client of the start configuration stays', async () => {
    const made = await makeMachine(manager, scene)
    await service.em().nativeUpdate(ApiClient, { id: made.id }, { systemClient: true })
    const { version } = (await manager.get(`${path}/${made.id}`)).body.metadata
    const reply = await manager.delete(`${path}/${made.id}?version=${version}`)
    expect(refusalOf(reply)).toEqual([409, 'SYSTEM_ENTITY_PROTECTED'])
  })

  test('is refused without a version or with another, without token, right or client', async () => {
    const made = await makeMachine(manager, scene)
    const url = `${path}/${made.id}`
    expect(refusalOf(await manager.delete(url))).toEqual([400, 'INVALID_REQUEST'])
    expect(refusalOf(await manager.delete(`${url}?version=2`))).toEqual([409, 'VERSION_CONFLICT'])
    expect((await service.anonymous.delete(`${url}?version=1`)).status).toBe(401)
    expect(refusalOf(await scene.owner.delete(`${url}?version=1`))).toEqual([403, 'ACCESS_DENIED'])
    const unknown = await manager.delete(`${path}/${randomUUID()}?version=1`)
    expect(refusalOf(unknown)).toEqual([404, 'API_CLIENT_NOT_FOUND'])
    expect(await isAccepted(made, made.secret)).toBe(true)
  })
})
