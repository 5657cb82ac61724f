// The migrations make what the entities say, once.
import { afterEach, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { Client } from 'pg'
import { migrate, openStorage } from '../../storage/orm.ts'
import { until } from '../support/issuing.ts'
import { stack } from '../support/stack.ts'

const opened: MikroORM[] = []
const name = `migrations_${process.env['JEST_WORKER_ID']}`

const emptyDatabase = async (): Promise<string> => {
  const admin = new Client({ connectionString: stack.databaseAdminUrl() })
  await admin.connect()
  await admin.query(`drop database if exists ${name} with (force)`)
  await admin.query(`create database ${name}`)
  await admin.end()
  const url = new URL(stack.databaseAdminUrl())
  url.pathname = `/${name}`
  return url.href
}

const open = async (url: string): Promise<MikroORM> => {
  const orm = await openStorage({ url })
  opened.push(orm)
  return orm
}

afterEach(async () => {
  for (const orm of opened.splice(0)) await orm.close()
})

const schemaOf = (orm: MikroORM) =>
  orm.em.execute(
    `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
      where table_schema = 'public' order by 1, 2`,
  )
const executed = async (orm: MikroORM) => (await orm.migrator.getExecuted()).map(({ name }) => name)

test('a migrated empty database is what the entities say', async () => {
  const orm = await open(await emptyDatabase())
  expect(await orm.schema.getUpdateSchemaSQL({ wrap: false })).not.toBe('')
  await migrate(orm)
  expect((await orm.schema.getUpdateSchemaSQL({ wrap: false })).trim()).toBe('')
})

test('migrating twice changes nothing', async () => {
  const orm = await open(await emptyDatabase())
  await migrate(orm)
  const [schema, migrations] = [await schemaOf(orm), await executed(orm)]
  await migrate(orm)
  expect(await schemaOf(orm)).toEqual(schema)
  expect(await executed(orm)).toEqual(migrations)
  expect(migrations.length).toBeGreaterThan(0)
})

test('migrations may take longer than a silent transaction is let be', async () => {
  const url = await emptyDatabase()
  await migrate(await open(url))
  const slow = await openStorage({ url, longestSilenceMs: 200 })
  opened.push(slow)
  const holder = new Client({ connectionString: url })
  await holder.connect()
  try {
    await holder.query('begin; lock table mikro_orm_migrations')
    const migrated = migrate(slow)
    const waits = async () =>
      (await holder.query(`select from pg_locks where not granted and relation = 'mikro_orm_migrations'::regclass`))
        .rows.length > 0
    await until('the migrator waits', waits)
    await holder.query('select pg_sleep(1)')
    await holder.query('commit')
    await migrated
  } finally {
    await holder.end()
  }
})

test('processes that start at the same time migrate once', async () => {
  const url = await emptyDatabase()
  const first = await open(url)
  await Promise.all([first, await open(url), await open(url)].map(migrate))
  const applied = await executed(first)
  expect(new Set(applied).size).toBe(applied.length)
  expect((await first.schema.getUpdateSchemaSQL({ wrap: false })).trim()).toBe('')
})
