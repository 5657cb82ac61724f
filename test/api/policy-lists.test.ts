// Listing the policies for which an end entity has no password.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { EndEntityPassword } from '../../storage/rows/end-entity-password.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { startApi, type Api } from '../support/api.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

let api: Api
let realm: Realm
let endEntity: EndEntity
let without: Policy
let withOne: Policy
let archived: Policy

const givePassword = async (endEntityId: string, policyId: string): Promise<void> => {
  const em = api.em()
  em.create(EndEntityPassword, { endEntityId, policyId, sealed: Buffer.from('sealed'), verifier: 'none' })
  await em.flush()
}

beforeAll(async () => {
  api = await startApi()
  const em = api.em()
  realm = await makeRealm(em)
  endEntity = await makeEndEntity(em, realm)
  without = await makePolicy(em, realm, { name: 'Without' })
  withOne = await makePolicy(em, realm, { name: 'With' })
  archived = await makePolicy(em, realm, { archived: true })
  await makePolicy(em, await makeRealm(em))
  const other = await makeEndEntity(em, realm)
  await givePassword(endEntity.id, withOne.id)
  await givePassword(other.id, without.id)
})
afterAll(() => api.stop())

const idsOf = (body: { content: { id: string }[] }) => body.content.map(({ id }) => id)

describe('availablePoliciesWithoutPasswordByEndEntityId', () => {
  const url = (id = endEntity.id) => `/api/v1/policies/end-entities/${id}/no-password`
  const reader = () => api.user({ REALM: { [realm.id]: ['FULL_READ'] } })

  test('asks for a token', async () => {
    expect((await api.anonymous.get(url())).status).toBe(401)
  })

  test('lists the living policies of its realm for which it has no password', async () => {
    const { status, body } = await (await reader()).get(url())
    expect([status, idsOf(body), body.totalElements]).toEqual([200, [without.id], 1])
    expect(body.content[0]).toMatchObject({ realmName: realm.name, name: 'Without' })
    expect(idsOf(body)).not.toContain(archived.id)
  })

  test('is paged and sorted', async () => {
    const own = await makeEndEntity(api.em(), realm)
    const names = async (query: string) =>
      (await (await reader()).get(url(own.id) + query)).body.content.map(({ name }: Policy) => name)
    expect(await names('?sort=name')).toEqual(['With', 'Without'])
    expect(await names('?sort=name,desc&size=1&page=1')).toEqual(['With'])
    expect((await (await reader()).get(`${url()}?sort=endEntityRules`)).status).toBe(400)
  })

  test('holds only what the caller may read', async () => {
    const own = await makeEndEntity(api.em(), realm)
    const grants = { END_ENTITY: { [own.id]: ['READ'] }, POLICY: { [withOne.id]: ['READ'] } }
    expect(idsOf((await (await api.user(grants)).get(url(own.id))).body)).toEqual([withOne.id])
    const blind = await api.user({ REALM: { [realm.id]: ['ENDENTITIES_READ'] } })
    expect((await blind.get(url(own.id))).body.totalElements).toBe(0)
  })

  test('is for those who may read the end entity', async () => {
    const policies = await api.user({ REALM: { [realm.id]: ['POLICIES_READ'] } })
    expect(refusalOf(await policies.get(url()))).toEqual([403, 'ACCESS_DENIED'])
    const outsider = await api.user({ REALM: { [randomUUID()]: ['FULL_READ'] } })
    expect(refusalOf(await outsider.get(url()))).toEqual([403, 'ACCESS_DENIED'])
  })

  test('an unknown end entity is 404, an archived one 409', async () => {
    const caller = await reader()
    const gone = await makeEndEntity(api.em(), realm, { archived: true })
    expect(refusalOf(await caller.get(url(randomUUID())))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    expect(refusalOf(await caller.get(url('none')))).toEqual([400, 'INVALID_IDENTIFIER'])
    expect(refusalOf(await caller.get(url(gone.id)))).toEqual([409, 'ENTITY_ARCHIVED'])
  })
})

describe('searchEndEntities', () => {
  const search = async (query: object) =>
    (await api.user({ REALM: { [realm.id]: ['FULL_READ'] } })).post('/api/v1/end-entities/search', {
      realmId: realm.id,
      ...query,
    })

  test('keeps those that have no password for a policy', async () => {
    const found = async (policyId: string) =>
      idsOf((await search({ withoutPasswordForPolicyId: policyId, endEntityIds: [endEntity.id] })).body)
    expect(await found(withOne.id)).toEqual([])
    expect(await found(without.id)).toEqual([endEntity.id])
    expect(await found(archived.id)).toEqual([endEntity.id])
    const all = await api.em().count(EndEntity, { realmId: realm.id, archived: false })
    expect((await search({ withoutPasswordForPolicyId: withOne.id })).body.totalElements).toBe(all - 1)
  })

  test('that policy must be there, readable and of the realm', async () => {
    const foreign = await makePolicy(api.em(), await makeRealm(api.em()))
    const unknown = await search({ withoutPasswordForPolicyId: randomUUID() })
    expect(refusalOf(unknown)).toEqual([404, 'POLICY_NOT_FOUND'])
    expect((await search({ withoutPasswordForPolicyId: foreign.id })).status).toBe(403)
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const query = { realmId: realm.id, withoutPasswordForPolicyId: foreign.id }
    const mismatch = await admin.post('/api/v1/end-entities/search', query)
    expect(refusalOf(mismatch)).toEqual([422, 'REALM_MISMATCH'])
  })
})
