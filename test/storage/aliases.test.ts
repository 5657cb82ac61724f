// Aliases at the first issue ask an index what else is known by them, also where nothing is known of the table yet.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { isAliasTaken, setAliases } from '../../storage/aliases.ts'
import { openStorage } from '../../storage/orm.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { freshDatabase } from '../support/database.ts'

const size = 2000
let orm: MikroORM
let realmId: string

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase(), connections: 2 })
  const em = orm.em.fork()
  await em.execute('alter table end_entity set (autovacuum_enabled = false)')
  const realm = em.create(Realm, { name: 'Many' })
  await em.flush()
  realmId = realm.id
  await em.execute(
    `insert into end_entity (id, created_by_type, created_date, last_modified_by_type, last_modified_date, realm_id, common_name, generic_dto_list)
     select gen_random_uuid(), 'SYSTEM', now(), 'SYSTEM', now(), ?, 'host-' || n || '.example.org', '[]'
       from generate_series(1, ${size}) as n`,
    [realmId],
  )
})
afterAll(() => orm.close())

/** How many rows of end entities the server has read for this connection, by whatever way, since it last said so. */
const rowsRead = async (em: EntityManager): Promise<number> => {
  const [row] = await em.execute<{ read: string }[]>(
    `select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_xact_user_tables where relname = 'end_entity'`,
  )
  return Number(row?.read ?? 0)
}

const someOf = (em: EntityManager, count: number) =>
  em.execute<{ id: string; alias: string }[]>(
    `select id, common_name as alias from end_entity where realm_id = ? and alias is null order by common_name limit ?`,
    [realmId, count],
  )

test('fifty aliases beside two thousand end entities read no more than a few rows for each', async () => {
  const chosen = (await someOf(orm.em.fork(), 50)).map(one => ({ ...one, realmId }))
  const read = await orm.em.fork().transactional(async em => {
    const before = await rowsRead(em)
    await setAliases(em, chosen, new Date())
    return (await rowsRead(em)) - before
  })
  expect(read).toBeLessThan(10 * chosen.length)
  const [set] = await orm.em.fork().execute<{ count: string }[]>('select count(alias) from end_entity')
  expect(Number(set?.count)).toBe(chosen.length)
})

test('so does an alias that somebody chooses', async () => {
  const [one] = await someOf(orm.em.fork(), 1)
  if (!one) throw new Error('There is no end entity.')
  await orm.em.fork().transactional(async em => {
    const before = await rowsRead(em)
    expect(await isAliasTaken(em, { ...one, realmId, alias: ' HOST-2.example.org ' })).toBe(true)
    expect(await isAliasTaken(em, { ...one, realmId, alias: 'nobody' })).toBe(false)
    expect((await rowsRead(em)) - before).toBeLessThan(10)
  })
})
