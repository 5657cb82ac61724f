// The door for statements that run often: prepared once a connection, in the transaction of whoever asks, with the errors of MikroORM.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { UniqueConstraintViolationException, type MikroORM } from '@mikro-orm/postgresql'
import { findTogether } from '../../storage/entity-rows.ts'
import { findWithGrants, grant, loadGrants } from '../../storage/grant.ts'
import { openStorage } from '../../storage/orm.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { statement, Statements } from '../../storage/statement.ts'
import { storeNew } from '../../storage/store-new.ts'
import { freshDatabase } from '../support/database.ts'
import { makePolicy } from '../support/records.ts'

let orm: MikroORM
beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase(), connections: 1 })
})
afterAll(() => orm.close())

const realmNames = statement<{ name: string }>('select name from realm where name like $1 order by name')

const newRealm = (name: string, em = orm.em.fork()): Promise<Realm> =>
  storeNew(em, {
    entity: Realm,
    data: { name, mailingListId: null },
    scope: 'REALM',
    fact: ({ id }) => ({ type: 'ENTITY_CREATED', objectId: id, realmId: id, what: `Realm ${name} created` }),
    now: new Date(),
  })

const prepared = statement<{ count: string }>(
  `select count(*) from pg_prepared_statements where statement like 'select name from realm%'`,
)

test('a statement is prepared once a connection', async () => {
  for (let calls = 0; calls < 3; calls++) await realmNames.all(orm.em.fork(), ['%'])
  const [row] = await prepared.all(orm.em.fork(), [])
  expect(Number(row?.count)).toBe(1)
})

test('values are values, whatever stands in them', async () => {
  const name = `'; drop table realm; -- $1 ? \\`
  await newRealm(name)
  expect(await realmNames.all(orm.em.fork(), [name.replaceAll('\\', '\\\\')])).toEqual([{ name }])
})

test('it sees what its transaction has written, and leaves with it', async () => {
  const gone = new Error('broken off')
  const broken = orm.em.fork().transactional(async em => {
    await newRealm('Within', em)
    expect(await realmNames.all(em, ['Within'])).toHaveLength(1)
    throw gone
  })
  await expect(broken).rejects.toBe(gone)
  expect(await realmNames.all(orm.em.fork(), ['Within'])).toEqual([])
})

test('a name that is taken stores nothing, neither grant nor event', async () => {
  await newRealm('Taken')
  const em = orm.em.fork()
  const counted = 'select (select count(*) from audit_event) + (select count(*) from permission_grant) as count'
  const before = await em.execute(counted)
  await expect(newRealm('Taken')).rejects.toBeInstanceOf(UniqueConstraintViolationException)
  expect(await em.execute(counted)).toEqual(before)
})

test('rows that are read together are managed: a change of one is flushed with its version', async () => {
  const { id } = await newRealm('Before')
  const em = orm.em.fork()
  const unknown = { entity: Realm, id: crypto.randomUUID() }
  const [found, missing, again] = await findTogether(em, [{ entity: Realm, id }, unknown, { entity: Realm, id }])
  expect([missing, again === found]).toEqual([null, true])
  Object.assign(found as Realm, { name: 'After' })
  await em.flush()
  expect(await orm.em.fork().findOneOrFail(Realm, id)).toMatchObject({ name: 'After', version: 2 })
})

test('reading changes nothing: a flush after it finds nothing to write', async () => {
  const { id } = await newRealm('Unchanged')
  const em = orm.em.fork()
  await findTogether(em, [{ entity: Realm, id }])
  em.getUnitOfWork().computeChangeSets()
  expect(em.getUnitOfWork().getChangeSets()).toEqual([])
})

test('rows are read with what somebody holds on them, on their realm and globally, and with nothing of others', async () => {
  const em = orm.em.fork()
  const realm = await newRealm('With grants')
  const policy = await makePolicy(em, await em.findOneOrFail(Realm, realm.id))
  const [reader, other] = [crypto.randomUUID(), crypto.randomUUID()]
  const on = (scope: 'REALM' | 'POLICY' | 'GLOBAL', resourceId: string, permission: string) => ({
    scope,
    resourceIds: [resourceId],
    permissions: [permission],
  })
  await grant(em, reader, on('GLOBAL', reader, 'USERS_READ'))
  await grant(em, reader, on('REALM', realm.id, 'READ'))
  await grant(em, reader, on('POLICY', policy.id, 'UPDATE'))
  await grant(em, other, on('POLICY', policy.id, 'DELETE'))
  const { rows, held } = await findWithGrants(orm.em.fork(), reader, [{ entity: Policy, id: policy.id }])
  expect(rows).toMatchObject([{ id: policy.id, name: policy.name }])
  const apart = await loadGrants(orm.em.fork(), reader, [{ REALM: realm.id, POLICY: policy.id }])
  const told = (grants: typeof apart | undefined) =>
    grants && [[...grants.global], [...grants.on('REALM', realm.id)], [...grants.on('POLICY', policy.id)]]
  expect(told(held)).toEqual([['USERS_READ'], ['READ'], ['UPDATE']])
  expect(told(held)).toEqual(told(apart))
})

test('where a row is not there, the grants are read all the same', async () => {
  const reader = crypto.randomUUID()
  await grant(orm.em.fork(), reader, { scope: 'GLOBAL', resourceIds: [reader], permissions: ['ADMIN'] })
  const unknown = { entity: Policy, id: crypto.randomUUID() }
  const { rows, held } = await findWithGrants(orm.em.fork(), reader, [unknown])
  expect([rows, [...(held?.global ?? [])]]).toEqual([[null], ['ADMIN']])
})

test('no more statements are kept than were allowed', () => {
  const few = new Statements(1)
  const text = (key: string) => () => `select '${key}'`
  const kept = few.get('a', text('a'))
  const other = few.get('b', text('b'))
  expect([few.get('a', text('a')) === kept, few.get('b', text('b')) === other]).toEqual([true, false])
})
