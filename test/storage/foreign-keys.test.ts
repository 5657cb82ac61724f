// What deletes many rows (contract 4.5) is as quick as the look-ups of their foreign keys: each of those has an index.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { migrate, openStorage } from '../../storage/orm.ts'
import { freshDatabase } from '../support/database.ts'

let orm: MikroORM
beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
  await migrate(orm)
})
afterAll(() => orm.close())

test('an index begins with the columns of each foreign key, and holds every row that has one', async () => {
  const keys = await orm.em.fork().execute<{ name: string; indexed: boolean }[]>(
    `select c.conrelid::regclass || ' ' || c.conname as name, exists (
       select from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1]
          and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) =
                 '(' || (select attname from pg_attribute where attrelid = c.conrelid and attnum = c.conkey[1]) || ' IS NOT NULL)')) as indexed
       from pg_constraint c where c.contype = 'f' order by 1`,
  )
  expect(keys.length).toBeGreaterThan(20)
  expect(keys.filter(({ indexed }) => !indexed)).toEqual([])
})
