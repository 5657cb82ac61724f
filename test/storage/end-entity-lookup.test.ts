// Looking up many end entities by key.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { idsByAlias, idsByField, type LookupStrategy } from '../../storage/end-entity-lookup.ts'
import { openStorage } from '../../storage/orm.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { freshDatabase } from '../support/database.ts'
import { makeEndEntity, makeRealm } from '../support/records.ts'

let orm: MikroORM
let realm: Realm
beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
  realm = await makeRealm(orm.em.fork())
})
afterAll(() => orm.close())

const em = () => orm.em.fork()
const living = () => ({ realmId: realm.id, archived: false })
const make = async (alias: string, archived = false): Promise<string> => {
  const { id } = await makeEndEntity(em(), realm, { archived })
  await em().nativeUpdate(EndEntity, { id }, { alias })
  return id
}

test('many keys are looked up at once, each answered as it was asked for', async () => {
  const [one, two] = [await make('Gamma Ray'), await make('delta')]
  await make('epsilon', true)
  const found = await idsByAlias(em(), living(), ['GAMMA  RAY', 'gamma ray', 'delta', 'epsilon', 'none', 'delta'])
  expect(found).toEqual(
    new Map([
      ['GAMMA  RAY', [one]],
      ['gamma ray', [one]],
      ['delta', [two]],
    ]),
  )
})

test('archived ones are looked up by themselves', async () => {
  const [old, older] = [await make('zeta', true), await make('zeta', true)]
  await make('zeta')
  const found = await idsByAlias(em(), { realmId: realm.id, archived: true }, ['Zeta'])
  expect(found.get('Zeta')?.toSorted()).toEqual([old, older].toSorted())
})

test('letters of every script compare without case', async () => {
  const id = await make('JÜRGEN ÉMILE ΣΟΦΙΑ ЖЕНЯ')
  expect(await idsByAlias(em(), living(), ['jürgen émile σοφια женя'])).toEqual(
    new Map([['jürgen émile σοφια женя', [id]]]),
  )
})

test.each(["o'hara?", '{a,b}', 'a"b\\c', '%_', '$1'])('%s is a key like any other', async key => {
  const id = await make(key)
  expect(await idsByAlias(em(), living(), [key])).toEqual(new Map([[key, [id]]]))
})

test('a key that no row can hold finds nothing and spoils no other', async () => {
  const id = await make('eta')
  expect(await idsByAlias(em(), living(), ['a\0b', 'a\uD800', 'eta'])).toEqual(new Map([['eta', [id]]]))
})

test('nothing is asked for, nothing is found', async () => {
  expect(await idsByAlias(em(), living(), [])).toEqual(new Map())
})

const explained = async (search: (watched: ReturnType<typeof em>) => Promise<unknown>): Promise<string> => {
  const watched = em()
  const statements: [string, unknown[]][] = []
  const execute = watched.execute.bind(watched)
  watched.execute = ((sql: string, params: unknown[]) => {
    statements.push([sql, params])
    return execute(sql, params)
  }) as typeof watched.execute
  await search(watched)
  const [sql = '', params = []] = statements[0] ?? []
  const plan = await em().execute<{ 'QUERY PLAN': string }[]>(`explain ${sql}`, params)
  return plan.map(row => row['QUERY PLAN']).join('\n')
}

const indexes: [LookupStrategy, string][] = [
  ['COMMON_NAME', 'end_entity_by_common_name'],
  ['SUBJECT_DN', 'end_entity_by_common_name'],
  ['EMAIL', 'end_entity_by_email'],
  ['DOMAIN', 'end_entity_by_domain'],
  ['IP', 'end_entity_by_ip'],
  ['EXTERNAL_ID', 'end_entity_by_external_id'],
]

test('every look-up among many goes by an index', async () => {
  const crowd = await makeRealm(em())
  await em().execute(
    `insert into end_entity (id, realm_id, alias, common_name, email, external_id, domains, ips, generic_dto_list,
            created_by_type, created_date, last_modified_by_type, last_modified_date)
     select gen_random_uuid(), ?, 'alias ' || n, 'cn ' || n, n || '@a.example', 'id ' || n, array[n || '.example'],
            array['2001:db8::' || n], '[]', 'SYSTEM', now(), 'SYSTEM', now() from generate_series(1, 20000) as n`,
    [crowd.id],
  )
  await em().execute('analyze end_entity')
  const scope = { realmId: crowd.id, archived: false }
  for (const [strategy, index] of indexes)
    expect(await explained(watched => idsByField(watched, strategy, { ...scope, values: ['x', 'y'] }))).toContain(index)
  expect(await explained(watched => idsByAlias(watched, scope, ['x', 'y']))).toMatch(/end_entity_(by_)?alias/)
})
