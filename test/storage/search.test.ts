// Pages, order and criteria of searches.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { raw, type MikroORM } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import type { PageRequest } from '../../domain/search.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { openStorage } from '../../storage/orm.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { alias, searchPage, type Search } from '../../storage/lists/search.ts'
import { freshDatabase } from '../support/database.ts'
import { makeEndEntity, makeRealm } from '../support/records.ts'

let orm: MikroORM
let realm: Realm
const ids = new Map<string, string>()

/** Names whose order is not that of their making, two of them with the same organization, two with none. */
const people = [
  { commonName: 'carol', organization: 'Blue' },
  { commonName: 'alice', organization: null },
  { commonName: 'Bob 100%', organization: 'Red' },
  { commonName: 'dave_1', organization: 'Blue' },
  { commonName: 'davex1', organization: null },
  { commonName: 'back\\slash', organization: "O'Hara?" },
]

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
  const em = orm.em.fork()
  realm = await makeRealm(em)
  for (const person of people) {
    const row = await makeEndEntity(em, realm, person)
    ids.set(person.commonName, row.id)
  }
  // One and the same moment for all: the order must not depend on the clock.
  await em.execute(`update end_entity set created_date = '2026-01-01T00:00:00Z'`)
})
afterAll(() => orm.close())

const find = (search: Partial<Search<EndEntity>> = {}, page: Partial<PageRequest> = {}) =>
  searchPage(orm.em.fork(), EndEntity, {
    page: { page: 0, size: 20, sort: [], ...page },
    ...search,
  })
const names = async (...question: Parameters<typeof find>) =>
  (await find(...question)).content.map(({ commonName }) => commonName)
const term = (text: string | null) => ({ term: { text, in: [`${alias}.common_name`, `${alias}.organization`] } })
const by = (property: string, descending = false) => ({ sort: [{ property, descending }] })

test('pages do not overlap, miss nothing, and count', async () => {
  const pages = await Promise.all([0, 1, 2, 3].map(page => find({}, { page, size: 2 })))
  const seen = pages.flatMap(({ content }) => content.map(({ id }) => id))
  expect(seen).toHaveLength(6)
  expect(new Set(seen)).toEqual(new Set(ids.values()))
  expect(pages.map(({ numberOfElements }) => numberOfElements)).toEqual([2, 2, 2, 0])
  expect(pages[1]).toMatchObject({ totalElements: 6, totalPages: 3, number: 1, size: 2, first: false, last: false })
  expect(pages[2]).toMatchObject({ last: true, empty: false })
  expect(pages[3]).toMatchObject({ last: true, empty: true, content: [] })
})

test('rows of the same moment are ordered by id', async () => {
  const { content } = await find()
  expect(content.map(({ id }) => id)).toEqual([...ids.values()].toSorted())
})

test('the newest come first unless something else is wanted', async () => {
  const em = orm.em.fork()
  const id = ids.get('alice') ?? ''
  await em.execute(`update end_entity set created_date = '2026-01-02T00:00:00Z' where id = ?`, [id])
  expect((await names())[0]).toBe('alice')
  expect((await names({}, by('createdDate'))).at(-1)).toBe('alice')
  await em.execute(`update end_entity set created_date = '2026-01-01T00:00:00Z' where id = ?`, [id])
})

test.each([false, true])('rows without a value come last (descending: %p)', async descending => {
  const found = await find({}, by('organization', descending))
  const organizations = found.content.map(({ organization }) => organization ?? null)
  const named = ['Blue', 'Blue', "O'Hara?", 'Red']
  expect(organizations).toEqual([...(descending ? named.toReversed() : named), null, null])
})

test('a second criterion decides among equals', async () => {
  const sort = [
    { property: 'organization', descending: false },
    { property: 'commonName', descending: true },
  ]
  expect((await names({}, { sort })).slice(0, 2)).toEqual(['dave_1', 'carol'])
})

test.each(['providerId', 'id desc; drop table realm', 'metadata.createdDate', 'toString', 'metadata'])(
  'the criterion %p, which no caller may bring here, is a mistake of ours',
  async property => {
    const found = find({}, by(property))
    await expect(found).rejects.toThrow(`EndEntity cannot be sorted by ${property}`)
    await expect(found).rejects.not.toBeInstanceOf(Failure)
  },
)

test('a computed property is sorted by its expression', async () => {
  const computed = { backwards: `reverse(${alias}.common_name)` }
  expect((await names({ computed }, by('backwards')))[0]).toBe('Bob 100%')
})

test('a term is found anywhere, in any of its places, whatever its case', async () => {
  expect(await names(term('ALI'))).toEqual(['alice'])
  expect(await names({ ...term('blue') }, by('commonName'))).toEqual(['carol', 'dave_1'])
  expect(await names(term('nobody'))).toEqual([])
})

test.each([
  ['%', ['Bob 100%']],
  ['_', ['dave_1']],
  ['e_1', ['dave_1']],
  ['\\', ['back\\slash']],
  ["o'hara?", ['back\\slash']],
  ['?', ['back\\slash']],
])('the term %p means its own characters', async (text, expected) => {
  expect(await names(term(text))).toEqual(expected)
})

test.each([null, '', '   '])('an empty term (%p) does not narrow', async text => {
  expect(await names(term(text))).toHaveLength(6)
})

test('spaces around a term do not matter', async () => {
  expect(await names(term('  carol '))).toEqual(['carol'])
})

test('a term that is an id finds its row', async () => {
  const id = ids.get('carol') ?? ''
  expect(await names(term(id))).toEqual(['carol'])
  expect(await names(term(id.toUpperCase()))).toEqual(['carol'])
  expect(await names(term(randomUUID()))).toEqual([])
  expect(await names(term(id.slice(0, 20)))).toEqual([])
})

test('filters, raw conditions and the term narrow together', async () => {
  const where = { organization: 'Blue' }
  const and = [raw(`${alias}.common_name <> ?`, ['carol']), undefined]
  expect(await names({ where, and, ...term('a') })).toEqual(['dave_1'])
  const { totalElements } = await find({ where, and, ...term('a') }, { size: 1, page: 5 })
  expect(totalElements).toBe(1)
})
