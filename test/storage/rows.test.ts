// What every row has: who made and changed it and when, and a version that two writers cannot both raise.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { OptimisticLockError, type EntityManager, type MikroORM } from '@mikro-orm/postgresql'
import type { Principal } from '../../domain/principal.ts'
import { openStorage } from '../../storage/orm.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { actAs, actor } from '../../storage/rows/stamp.ts'
import { freshDatabase } from '../support/database.ts'

let orm: MikroORM
let em: EntityManager

const ada: Principal = { id: randomUUID(), type: 'USER', name: 'Ada' }
const robot: Principal = { id: randomUUID(), type: 'API_CLIENT', name: 'robot' }

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
})
afterAll(() => orm.close())
beforeEach(() => {
  em = orm.em.fork()
})

const newRealm = async (by?: Principal) => {
  const fork = orm.em.fork()
  if (by) actAs(fork, by)
  const realm = fork.create(Realm, { name: randomUUID() })
  await fork.flush()
  return realm
}

test('a new row says who made it and when, at version 1', async () => {
  const before = Date.now()
  const made = await em.findOneOrFail(Realm, (await newRealm(ada)).id)
  expect(made.metadata).toMatchObject({
    createdBy: ada.id,
    createdByType: 'USER',
    lastModifiedBy: ada.id,
    lastModifiedByType: 'USER',
    version: 1,
  })
  expect(made.createdDate).toEqual(made.lastModifiedDate)
  expect(made.createdDate.getTime()).toBeGreaterThanOrEqual(before)
  expect(made.createdDate.getTime()).toBeLessThanOrEqual(Date.now())
})

test('what nobody is named for was done by the service', async () => {
  const made = await em.findOneOrFail(Realm, (await newRealm()).id)
  expect(made.metadata).toMatchObject({ createdBy: null, createdByType: 'SYSTEM' })
  expect(actor(em).type).toBe('SYSTEM')
})

test('a changed row says who changed it, keeps its maker and counts its version', async () => {
  const { id, createdDate } = await newRealm(ada)
  const realm = await actAs(em, robot).findOneOrFail(Realm, id)
  realm.name = randomUUID()
  await em.flush()
  const read = await orm.em.fork().findOneOrFail(Realm, id)
  expect(read.metadata).toMatchObject({
    createdBy: ada.id,
    createdDate,
    lastModifiedBy: robot.id,
    lastModifiedByType: 'API_CLIENT',
    version: 2,
  })
  expect(read.lastModifiedDate.getTime()).toBeGreaterThanOrEqual(createdDate.getTime())
})

test('a flush without a change touches nothing', async () => {
  const { id } = await newRealm(ada)
  const realm = await actAs(em, robot).findOneOrFail(Realm, id)
  const { name } = realm
  realm.name = name
  await em.flush()
  expect((await orm.em.fork().findOneOrFail(Realm, id)).metadata).toMatchObject({
    version: 1,
    lastModifiedBy: ada.id,
  })
})

test('the author holds inside a transaction as well', async () => {
  const id = await actAs(em, ada).transactional(async tx => {
    const realm = tx.create(Realm, { name: randomUUID() })
    await tx.flush()
    return realm.id
  })
  expect((await orm.em.fork().findOneOrFail(Realm, id)).createdBy).toBe(ada.id)
})

test('the author of one unit of work is not that of the next', async () => {
  actAs(em, ada)
  expect(actor(orm.em.fork()).type).toBe('SYSTEM')
})

test('of two changes to the same version of a row the second is refused', async () => {
  const { id } = await newRealm()
  const [first, second] = [orm.em.fork(), orm.em.fork()]
  const [mine, theirs] = [await first.findOneOrFail(Realm, id), await second.findOneOrFail(Realm, id)]
  mine.name = `first ${id}`
  await first.flush()
  theirs.name = `second ${id}`
  await expect(second.flush()).rejects.toThrow(OptimisticLockError)
  expect(await orm.em.fork().findOneOrFail(Realm, id)).toMatchObject({ name: `first ${id}`, version: 2 })
})
