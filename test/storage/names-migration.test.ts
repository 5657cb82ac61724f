// The migration that compares names by their normal form, on an installation where names are equal by it already.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { Client } from 'pg'
import { migrate, openStorage } from '../../storage/orm.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'
import { stack } from '../support/stack.ts'

const before = 'Migration20261121214000_preparation_failed'
const databaseName = `names_migration_${process.env['JEST_WORKER_ID']}`

let orm: MikroORM
let em: () => EntityManager
beforeAll(async () => {
  const admin = new Client({ connectionString: stack.databaseAdminUrl() })
  await admin.connect()
  await admin.query(`drop database if exists ${databaseName} with (force)`)
  await admin.query(`create database ${databaseName}`)
  await admin.end()
  const url = new URL(stack.databaseAdminUrl())
  url.pathname = `/${databaseName}`
  orm = await openStorage({ url: url.href })
  em = () => orm.em.fork()
  await orm.migrator.up({ to: before })
})
afterAll(() => orm.close())

const composed = 'Caf\u00e9 01'
const decomposed = 'cafe\u0301 01'
const spaced = '  CAF\u00c9   01 '
const long = (first: string) => first + 'x'.repeat(250)

/** A provider as it was then: rows of today have columns that are not there yet. */
const makeProvider = async ({ name }: { name: string }): Promise<{ id: string }> => {
  const id = randomUUID()
  await em().execute(
    `insert into certificate_provider (id, created_by_type, created_date, last_modified_by_type, last_modified_date, name,
       certificate_provider_type, settings, secret_names, connection_status)
     values (?, 'SYSTEM', now(), 'SYSTEM', now(), ?, 'LOCAL', '{}', '{}', 'UNKNOWN')`,
    [id, name],
  )
  return { id }
}

/** Makes one thing for each name, the first being the oldest, though not the first that is made. */
const inOrder = async <T extends { id: string }>(
  entity: typeof Realm | typeof Policy | typeof CertificateProvider | typeof EndEntity,
  names: readonly string[],
  make: (name: string) => Promise<T>,
): Promise<string[]> => {
  const ids: string[] = []
  for (const [index, name] of [...names.entries()].toReversed()) {
    const { id } = await make(name)
    await em().nativeUpdate(entity as typeof Realm, { id }, { createdDate: new Date(Date.UTC(2026, 0, 1 + index)) })
    ids.unshift(id)
  }
  return ids
}

const namesOf = async (
  entity: typeof Realm | typeof Policy | typeof CertificateProvider,
  ids: readonly string[],
): Promise<(string | undefined)[]> => {
  const rows = await em().find(entity as typeof Realm, { id: { $in: [...ids] } })
  return ids.map(id => rows.find(row => row.id === id)?.name)
}

const renamed = (name: string, id = ''): string => `${name.slice(0, 245)} ${id.slice(0, 8)}`

/** What is there before, and what has to be there afterwards. */
const prepare = async () => {
  const given = [composed, decomposed, spaced, 'another', long('\u00e9'), long('e\u0301')]
  const keeps = (ids: readonly string[]) =>
    given.map((name, index) => ([1, 2, 5].includes(index) ? renamed(name, ids[index]) : name))
  const realms = await inOrder(Realm, given, name => makeRealm(em(), { name }))
  const providers = await inOrder(CertificateProvider, given, name => makeProvider({ name }))
  const { id: certificateProviderId } = await makeProvider({ name: 'of all policies' })
  const [home, away] = [await makeRealm(em()), await makeRealm(em())]
  const policies = await inOrder(Policy, given, name => makePolicy(em(), home, { name, certificateProviderId }))
  const elsewhere = await makePolicy(em(), away, { name: decomposed, certificateProviderId })
  const gone = await makeRealm(em(), { name: decomposed, archived: true })
  const aliased = async (alias: string, where = home, archived = false) => {
    const endEntity = await makeEndEntity(em(), where, { archived })
    await em().nativeUpdate(EndEntity, { id: endEntity.id }, { alias })
    return endEntity
  }
  const aliases = await inOrder(EndEntity, [composed, decomposed, 'another'], alias => aliased(alias))
  const others = [await aliased(decomposed, away), await aliased(decomposed, home, true)].map(({ id }) => id)
  return { keeps, realms, providers, policies, elsewhere, gone, aliases, others }
}

test('of equal names the oldest stays, the others get the beginning of their id; nobody else is touched', async () => {
  const { keeps, realms, providers, policies, elsewhere, gone, aliases, others } = await prepare()
  await migrate(orm)
  expect(await namesOf(Realm, realms)).toEqual(keeps(realms))
  expect(await namesOf(CertificateProvider, providers)).toEqual(keeps(providers))
  expect(await namesOf(Policy, policies)).toEqual(keeps(policies))
  expect(await namesOf(Policy, [elsewhere.id])).toEqual([decomposed])
  expect(await namesOf(Realm, [gone.id])).toEqual([decomposed])
  const rows = await em().find(EndEntity, { id: { $in: [...aliases, ...others] } })
  const aliasesOf = (ids: readonly string[]) => ids.map(id => rows.find(row => row.id === id)?.alias)
  expect(aliasesOf(aliases)).toEqual([composed, null, 'another'])
  expect(aliasesOf(others)).toEqual([decomposed, decomposed])
  expect((await orm.schema.getUpdateSchemaSQL({ wrap: false })).trim()).toBe('')
})

test('afterwards no such name can be taken again', async () => {
  await expect(makeRealm(em(), { name: 'CAFE\u0301  01' })).rejects.toMatchObject({
    name: 'UniqueConstraintViolationException',
  })
})
