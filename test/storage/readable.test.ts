// A list holds exactly what its reader may read one by one: the SQL filter and the pure walk agree on random grants.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { EntityClass, MikroORM } from '@mikro-orm/postgresql'
import { array, assert, asyncProperty, constant, constantFrom, nat, oneof, record, subarray } from 'fast-check'
import { decide, scopes, type Place, type Right, type Scope } from '../../domain/permissions.ts'
import { GlobalPermission } from '../../domain/permission-enums.ts'
import { loadWiderGrants } from '../../storage/authorization.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { grant, loadGrants, replaceGrants } from '../../storage/grant.ts'
import { openStorage } from '../../storage/orm.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { readableRows, type ScopeColumns } from '../../storage/lists/readable-rows.ts'
import { alias, searchPage } from '../../storage/lists/search.ts'
import { freshDatabase } from '../support/database.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm, makeRequest } from '../support/records.ts'

let orm: MikroORM
const resources: Record<Scope, string[]> = {
  REALM: [],
  POLICY: [],
  END_ENTITY: [],
  CERT_REQUEST: [],
  CERTIFICATE: [],
}

/** The realm of each resource. */
const homes = new Map<string, string>()

type Listed = Realm | Policy | EndEntity | CertRequest | Certificate
interface List {
  readonly entity: EntityClass<Listed>
  readonly right: Right
  readonly columns: ScopeColumns
}
const lists: readonly List[] = [
  { entity: Realm, right: 'READ_REALM', columns: { REALM: `${alias}.id` } },
  {
    entity: Policy,
    right: 'READ_POLICY',
    columns: { REALM: `${alias}.realm_id`, POLICY: `${alias}.id` },
  },
  {
    entity: EndEntity,
    right: 'READ_END_ENTITY',
    columns: { REALM: `${alias}.realm_id`, END_ENTITY: `${alias}.id` },
  },
  {
    entity: CertRequest,
    right: 'READ_CERT_REQUEST',
    columns: { REALM: `${alias}.realm_id`, POLICY: `${alias}.policy_id`, CERT_REQUEST: `${alias}.id` },
  },
  {
    entity: Certificate,
    right: 'READ_CERTIFICATE',
    columns: { REALM: `${alias}.realm_id`, POLICY: `${alias}.policy_id`, CERTIFICATE: `${alias}.id` },
  },
]

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
  const em = orm.em.fork()
  for (let count = 0; count < 3; count++) {
    const realm = await makeRealm(em)
    const keep = (scope: Scope, { id }: { id: string }): void => {
      resources[scope].push(id)
      homes.set(id, realm.id)
    }
    keep('REALM', realm)
    const endEntity = await makeEndEntity(em, realm)
    keep('END_ENTITY', endEntity)
    keep('END_ENTITY', await makeEndEntity(em, realm))
    for (const policy of [await makePolicy(em, realm), await makePolicy(em, realm)]) {
      keep('POLICY', policy)
      keep('CERT_REQUEST', await makeRequest(em, policy, endEntity))
      keep('CERTIFICATE', await makeCertificate(em, policy, { endEntity }))
    }
  }
})
afterAll(() => orm.close())

const scoped = constantFrom(...(Object.keys(resources) as Scope[])).chain(scope =>
  record({
    scope: constant(scope),
    index: nat({ max: 5 }),
    permissions: subarray(Object.keys(scopes[scope]), { minLength: 1, maxLength: 3 }),
  }),
)
const cases = record({
  grants: array(scoped, { maxLength: 6 }),
  // Most people hold nothing globally; then the scopes decide.
  global: oneof(
    { weight: 4, arbitrary: constant([] as string[]) },
    { weight: 1, arbitrary: subarray(Object.keys(GlobalPermission), { maxLength: 2 }) },
  ),
})

const placeOf = (row: Listed): Place => row.place

test('a list shows what the walk allows, and nothing else', async () => {
  const verdicts = { shown: 0, hidden: 0 }
  await assert(
    asyncProperty(cases, async ({ grants, global }) => {
      const em = orm.em.fork()
      const principalId = randomUUID()
      if (global.length > 0)
        await grant(em, principalId, { scope: 'GLOBAL', resourceIds: [principalId], permissions: global })
      for (const { scope, index, permissions } of grants) {
        const of = resources[scope]
        await grant(em, principalId, { scope, resourceIds: [of[index % of.length] ?? ''], permissions })
      }
      for (const { entity, right, columns } of lists) {
        const all = await em.find(entity, {})
        const held = await loadGrants(em, principalId, all.map(placeOf))
        const expected = all.filter(row => decide(right, placeOf(row), held).allowed).map(({ id }) => id)
        const shown = await searchPage(orm.em.fork(), entity, {
          and: [await readableRows(em, right, { reader: { id: principalId, global: held.global }, columns })],
          page: { page: 0, size: 100, sort: [] },
        })
        expect(shown.content.map(({ id }) => id).toSorted()).toEqual(expected.toSorted())
        verdicts.shown += expected.length
        verdicts.hidden += all.length - expected.length
      }
    }),
    { numRuns: 60 },
  )
  expect(verdicts.shown).toBeGreaterThan(50)
  expect(verdicts.hidden).toBeGreaterThan(50)
})

test('a realm is entered by any grant on it or on something in it, and by nothing else', async () => {
  const em = orm.em.fork()
  const verdicts = { entered: 0, closed: 0 }
  await assert(
    asyncProperty(cases, async ({ grants }) => {
      const principalId = randomUUID()
      const entered = new Set<string>()
      for (const { scope, index, permissions } of grants) {
        const id = resources[scope][index % resources[scope].length] ?? ''
        await grant(em, principalId, { scope, resourceIds: [id], permissions })
        entered.add(homes.get(id) ?? '')
      }
      const realms = resources.REALM.map(REALM => ({ REALM }))
      const near = await loadGrants(em, principalId, realms)
      const held = await loadWiderGrants(em, near, { right: 'ENTER_REALM', places: realms })
      for (const place of realms) {
        expect(decide('ENTER_REALM', place, held).allowed).toBe(entered.has(place.REALM))
        verdicts[entered.has(place.REALM) ? 'entered' : 'closed'] += 1
      }
    }),
    { numRuns: 60 },
  )
  expect(Math.min(verdicts.entered, verdicts.closed)).toBeGreaterThan(20)
})

test('a reader of more certificates than a condition names sees them all', async () => {
  const em = orm.em.fork()
  const principalId = randomUUID()
  const others = Array.from({ length: 1000 }, () => randomUUID())
  const resourceIds = [...others, ...resources.CERTIFICATE.slice(1)]
  await grant(em, principalId, { scope: 'CERTIFICATE', resourceIds, permissions: ['READ'] })
  const reader = { id: principalId, global: new Set<GlobalPermission>() }
  const { content } = await searchPage(em, Certificate, {
    and: [await readableRows(em, 'READ_CERTIFICATE', { reader, columns: { CERTIFICATE: `${alias}.id` } })],
    page: { page: 0, size: 100, sort: [] },
  })
  expect(content.map(({ id }) => id).toSorted()).toEqual(resources.CERTIFICATE.slice(1).toSorted())
})

test('a right without a way in the listed columns shows nothing', async () => {
  const { content } = await searchPage(orm.em.fork(), Realm, {
    and: [
      await readableRows(orm.em.fork(), 'READ_POLICY', {
        reader: { id: randomUUID(), global: new Set() },
        columns: {},
      }),
    ],
    page: { page: 0, size: 100, sort: [] },
  })
  expect(content).toEqual([])
})

test('permissions given again are added, once each', async () => {
  const em = orm.em.fork()
  const principalId = randomUUID()
  const [resourceId = ''] = resources.REALM
  const give = (...permissions: string[]) =>
    grant(em, principalId, { scope: 'REALM', resourceIds: [resourceId], permissions })
  await give('READ', 'UPDATE')
  await give('UPDATE', 'DELETE')
  const held = await loadGrants(em, principalId, [{ REALM: resourceId }])
  expect([...held.on('REALM', resourceId)].toSorted()).toEqual(['DELETE', 'READ', 'UPDATE'])
})

test('grants given at the same time all count', async () => {
  const principalId = randomUUID()
  const [resourceId = ''] = resources.REALM
  const wanted = ['READ', 'UPDATE', 'DELETE', 'FULL_READ']
  await Promise.all(
    wanted.map(one =>
      grant(orm.em.fork(), principalId, { scope: 'REALM', resourceIds: [resourceId], permissions: [one] }),
    ),
  )
  const row = await orm.em.fork().findOneOrFail(PermissionGrant, { principalId, scope: 'REALM', resourceId })
  expect(row.permissions.toSorted()).toEqual(wanted.toSorted())
})

test('a replaced grant is what was said, and an empty one is gone', async () => {
  const em = orm.em.fork()
  const principalId = randomUUID()
  const [resourceId = ''] = resources.REALM
  await grant(em, principalId, { scope: 'REALM', resourceIds: [resourceId], permissions: ['READ', 'UPDATE'] })
  await replaceGrants(em, principalId, { scope: 'REALM', grants: [{ id: resourceId, permissions: ['DELETE'] }] })
  const held = await loadGrants(orm.em.fork(), principalId, [{ REALM: resourceId }])
  expect([...held.on('REALM', resourceId)]).toEqual(['DELETE'])
  await replaceGrants(em, principalId, { scope: 'REALM', grants: [{ id: resourceId, permissions: [] }] })
  expect(await orm.em.fork().count(PermissionGrant, { principalId })).toBe(0)
})
