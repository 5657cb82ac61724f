// The role of API and worker owns nothing, and what is said about a role that is wrong.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { Client } from 'pg'
import { record } from '../../storage/audit.ts'
import { openStorage } from '../../storage/orm.ts'
import { migrateAs, prepareSchema } from '../../storage/prepare.ts'
import { inspectRole } from '../../storage/roles.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { freshDatabase, serviceUrlOf } from '../support/database.ts'
import { makeRealm } from '../support/records.ts'

const opened: MikroORM[] = []
let ownerUrl: string
let serviceUrl: string
let warnings: string[]

const open = async (url: string) => {
  const orm = await openStorage({ url, connections: 2 })
  opened.push(orm)
  return orm
}
const prepare = async (url: string, migrationUrl?: string) =>
  prepareSchema(await open(url), { url, migrationUrl, warn: text => void warnings.push(text) })

const asOwner = async (sql: string): Promise<void> => {
  const client = new Client({ connectionString: ownerUrl })
  await client.connect()
  await client.query(sql)
  await client.end()
}

beforeEach(async () => {
  ownerUrl = await freshDatabase()
  serviceUrl = serviceUrlOf(ownerUrl)
  warnings = []
})
afterEach(async () => {
  for (const orm of opened.splice(0)) await orm.close()
})

describe('the role of the service', () => {
  beforeEach(() => migrateAs(ownerUrl, serviceUrl))

  test('reads and writes rows, and adds audit events and keys', async () => {
    const em = (await open(serviceUrl)).em.fork()
    const { id } = await makeRealm(em)
    record(em, { type: 'ENTITY_CREATED', objectId: id, realmId: id, what: 'Realm created' })
    em.create(PrivateKey, { id, sealed: Buffer.of(2) })
    await em.flush()
    expect(await em.fork().count(AuditEvent, { objectId: id })).toBe(1)
    expect(await em.fork().nativeDelete(PrivateKey, { id })).toBe(1)
  })

  test.each([
    ['change audit events', `update audit_event set event_description = ''`],
    ['change one column of them', `update audit_event set principal_id = null where false`],
    ['delete audit events', 'delete from audit_event'],
    ['empty the audit events', 'truncate audit_event'],
    ['empty any table', 'truncate setting'],
    ['forget a compromised key', 'delete from compromised_key'],
    ['put one key in the place of another', `update private_key set sealed = '\\x00'`],
    ['pretend that a migration was run', `insert into mikro_orm_migrations (name) values ('x')`],
    ['make a table', 'create table mine (id int)'],
    ['make a temporary table', 'create temporary table mine (id int)'],
    ['make a schema', 'create schema mine'],
    ['make a function', 'create function mine() returns int language sql as $$ select 1 $$'],
    ['change a table', 'alter table audit_event disable trigger all'],
    [
      'put a trigger on a table',
      'create trigger t before insert on realm execute function suppress_redundant_updates_trigger()',
    ],
    ['make an index', 'create index mine on realm (name)'],
    ['drop a table', 'drop table setting'],
    ['give rights away', 'grant update on audit_event to public'],
    ['become the owner', 'set role certwright'],
    ['pass triggers by', 'set session_replication_role = replica'],
  ])('may not %s', async (_, sql) => {
    const client = new Client({ connectionString: serviceUrl })
    await client.connect()
    const granted = async () =>
      (await client.query(`select has_table_privilege('audit_event', 'update') as may`)).rows[0].may as boolean
    const refused = await client.query(sql).then(
      () => '',
      (error: { code: string }) => error.code,
    )
    // PostgreSQL answers a grant of what one does not have with a warning.
    expect([refused, await granted()]).toEqual([sql.startsWith('grant') ? expect.any(String) : '42501', false])
    await client.end()
  })

  test('loses at the next migration what somebody gave it beyond that', async () => {
    await asOwner(
      'grant update, delete on audit_event to certwright_service; grant create on schema public to certwright_service',
    )
    expect((await inspectRole(await open(serviceUrl))).faults).toHaveLength(2)
    await migrateAs(ownerUrl, serviceUrl)
    expect(await inspectRole(await open(serviceUrl))).toEqual({ role: 'certwright_service', usable: true, faults: [] })
  })
})

test('with two roles a process starts without a warning, also many at once', async () => {
  await Promise.all([1, 2, 3].map(() => prepare(serviceUrl, ownerUrl)))
  await prepare(serviceUrl)
  expect(warnings).toEqual([])
})

test('one role for everything is warned about, and refused where two were asked for', async () => {
  await prepare(ownerUrl)
  expect(warnings).toEqual([
    expect.stringMatching(/role certwright .* may do too much: it is a superuser.*docs\/operations\.md/),
  ])
  await expect(prepare(ownerUrl, ownerUrl)).rejects.toThrow('may do too much: it is a superuser')
})

test('a role that cannot bring an old schema up to date says so and what to do', async () => {
  await asOwner('drop schema public cascade; create schema public; grant usage on schema public to public')
  await expect(prepare(serviceUrl)).rejects.toThrow(
    /The schema is not up to date, and the role certwright_service cannot change it .*MIGRATION_DATABASE_URL/,
  )
})

test('a role that nobody let use the tables says so and what to do', async () => {
  const name = `stranger_${randomUUID().slice(0, 8)}`
  await asOwner(`create role ${name} login password 'test'`)
  const url = new URL(serviceUrl)
  url.username = name
  await asOwner(`grant select on mikro_orm_migrations to ${name}`)
  await expect(prepare(url.href)).rejects.toThrow(`The role ${name} may not use the tables`)
  await asOwner(`drop owned by ${name}; drop role ${name}`)
})

test('in docker compose the owner of the schema is known to the migration alone, which API and worker wait for', () => {
  const compose = readFileSync(join(import.meta.dirname, '../../docker-compose.yml'), 'utf8')
  const services = new Map(
    [...compose.matchAll(/^ {2}([\w-]+):\n((?: {4,}.*\n|\n)+)/gm)].map(([, name = '', text = '']) => [name, text]),
  )
  const named = (word: string) => [...services].flatMap(([name, text]) => (text.includes(word) ? [name] : []))
  expect(named('certwright_owner:')).toEqual(['migration'])
  expect(named('migration: { condition: service_completed_successfully }')).toEqual(['api', 'worker'])
  expect(services.get('databases')).toContain('CREATE DATABASE certwright OWNER certwright_owner;')
  expect(compose.match(/MIGRATION_DATABASE_URL/g)).toHaveLength(1)
})
