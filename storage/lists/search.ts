// The one search of all lists (contract 1.3): filters, the simple term, what the caller may read, order and page.
import {
  raw,
  type EntityClass,
  type EntityManager,
  type FilterQuery,
  type QBFilterQuery,
  type RawQueryFragment,
} from '@mikro-orm/postgresql'
import { pageOf, type Page, type PageRequest, type Sort } from '../../domain/search.ts'

/** The alias of the listed table in raw conditions. */
export const alias = 'e0'

/** What a list asks for. */
export interface Search<T> {
  /** Filters that narrow together. */
  readonly where?: FilterQuery<T>
  /** Raw conditions that narrow further; undefined ones are left out. */
  readonly and?: readonly (RawQueryFragment | undefined)[]
  /** The free text, and the SQL expressions that it is looked for in. */
  readonly term?: { readonly text: string | null | undefined; readonly in: readonly string[] }
  /** The part that is wanted; its order names properties that the caller of the list has checked. */
  readonly page: PageRequest
  /** SQL expressions of properties that a list can be sorted by and that are no columns. */
  readonly computed?: Readonly<Record<string, string>>
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A text as a pattern of `ilike` that finds it anywhere. */
export const likeText = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** A condition that finds a text anywhere in the search text of the listed table, which has lower case. */
export const foundInText = (text: string): RawQueryFragment =>
  raw(`${alias}.search_text like lower(?)`, [likeText(text)])

/** A condition that keeps the row with this id; undefined when the text is none. */
export const rowWithId = (text: string): RawQueryFragment | undefined =>
  uuid.test(text) ? raw(`${alias}.id = ?::uuid`, [text]) : undefined

const termCondition = ({
  text,
  in: expressions,
}: NonNullable<Search<object>['term']>): RawQueryFragment | undefined => {
  const wanted = text?.trim()
  if (!wanted) return undefined
  const clauses = expressions.map(expression => `${expression} ilike ?`)
  const values: string[] = expressions.map(() => likeText(wanted))
  if (!uuid.test(wanted)) return raw(`(${clauses.join(' or ')})`, values)
  return raw(`(${[...clauses, `${alias}.id = ?::uuid`].join(' or ')})`, [...values, wanted])
}

type Order = Record<string, string>[]

const newestFirst: Order = [{ createdDate: 'desc' }]

const orderOf = <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  { page: { sort }, computed = {} }: Search<T>,
): Order => {
  const columns: object = em.getMetadata(entity).properties
  const expressionOf = ({ property }: Sort) => {
    const expression = Object.hasOwn(computed, property) ? computed[property] : undefined
    if (expression !== undefined) return raw(expression)
    if (Object.hasOwn(columns, property)) return property
    // What callers may name is checked before: see sortableBy of the API.
    throw new Error(`${entity.name} cannot be sorted by ${property}: it is neither a column nor computed.`)
  }
  const order = sort.map(one => ({ [expressionOf(one)]: one.descending ? 'desc nulls last' : 'asc nulls last' }))
  return [...(order.length > 0 ? order : newestFirst), { id: 'asc' }]
}

/** The number of all rows, where the page itself tells it: it is the last one. */
const totalOf = ({ page, size }: PageRequest, found: number): number | undefined =>
  found < size && (found > 0 || page === 0) ? page * size + found : undefined

const queryOf = <T extends object>(em: EntityManager, entity: EntityClass<T>, search: Search<T>) => {
  const { where = {}, and = [], term } = search
  const query = em.createQueryBuilder(entity, alias).where(where as QBFilterQuery<T>)
  for (const condition of [...and, term && termCondition(term)])
    if (condition) query.andWhere(condition.sql, [...condition.params])
  return query.orderBy(orderOf(em, entity, search) as never)
}

/** Answers one page of the rows that satisfy the search. */
export const searchPage = async <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  search: Search<T>,
): Promise<Page<T>> => {
  const { page } = search
  const query = queryOf(em, entity, search).select('*')
  query.limit(page.size, page.page * page.size)
  const rows = (await query.getResult()) as unknown as T[]
  return pageOf(rows, totalOf(page, rows.length) ?? (await query.getCount()), page)
}

/** The characters of an id and of the comma behind it. */
const idLength = 37

/** The ids of all rows that satisfy the search, in its order, so many at a time; they are read in one go, as one text. */
export async function* searchIds<T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  { sliceLength, ...search }: Search<T> & { readonly sliceLength: number },
): AsyncGenerator<string[]> {
  const { sql, params } = queryOf(em, entity, search)
    .select('id' as never)
    .toQuery()
  const [row] = await em.execute<{ ids: string | null }[]>(
    `select string_agg(id::text || ',', '') as ids from (${sql}) found`,
    [...params],
  )
  const ids = row?.ids ?? ''
  const step = sliceLength * idLength
  for (let start = 0; start < ids.length; start += step)
    yield ids
      .slice(start, start + step)
      .slice(0, -1)
      .split(',')
}

/** A condition that keeps the rows with these ids, or with one of them in another column; one parameter for thousands. */
export const amongIds = (ids: readonly string[], column = 'id'): RawQueryFragment =>
  raw(`${alias}.${column} = any(?::uuid[])`, [`{${ids.join(',')}}`])

/** Conditions that keep the rows whose date lies between two others, both included; null does not narrow. */
export const within = (column: string, from: Date | null, to: Date | null): (RawQueryFragment | undefined)[] => [
  from ? raw(`${alias}.${column} >= ?`, [from]) : undefined,
  to ? raw(`${alias}.${column} <= ?`, [to]) : undefined,
]
