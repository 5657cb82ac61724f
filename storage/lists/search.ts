// The one search of all lists (contract 1.3): filters, the simple term, what the caller may read, order and page.
import {
  raw,
  type EntityClass,
  type EntityManager,
  type FilterQuery,
  type QBFilterQuery,
  type RawQueryFragment,
} from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import { pageOf, type Page, type PageRequest } from '../../domain/search.ts'

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
  readonly page: PageRequest
  /** Properties of the item type that `sort` may name beside the audit columns. */
  readonly sortable: readonly string[]
  /** SQL expressions of sortable properties that are no columns. */
  readonly computed?: Readonly<Record<string, string>>
}

const auditColumns = ['createdDate', 'createdBy', 'lastModifiedDate']
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

const orderOf = ({ page: { sort }, sortable, computed = {} }: Search<never>): Record<string, string>[] => {
  const known = [...sortable, ...Object.keys(computed), ...auditColumns]
  const order = sort.map(({ property, descending }) => {
    const name = property.replace(/^metadata\./, '')
    if (!known.includes(name))
      throw new Failure('INVALID_REQUEST', `The list cannot be sorted by ${property}.`, [
        { field: 'sort', message: `One of: ${known.join(', ')}` },
      ])
    const expression = computed[name]
    return { [expression === undefined ? name : raw(expression)]: descending ? 'desc nulls last' : 'asc nulls last' }
  })
  return [...(order.length > 0 ? order : [{ createdDate: 'desc' }]), { id: 'asc' }]
}

/** The number of all rows, where the page itself tells it: it is the last one. */
const totalOf = ({ page, size }: PageRequest, found: number): number | undefined =>
  found < size && (found > 0 || page === 0) ? page * size + found : undefined

/** Answers one page of the rows that satisfy the search. */
export const searchPage = async <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  search: Search<T>,
): Promise<Page<T>> => {
  const { where = {}, and = [], term, page } = search
  const query = em
    .createQueryBuilder(entity, alias)
    .select('*')
    .where(where as QBFilterQuery<T>)
  for (const condition of [...and, term && termCondition(term)])
    if (condition) query.andWhere(condition.sql, [...condition.params])
  query.orderBy(orderOf(search as Search<never>) as never).limit(page.size, page.page * page.size)
  const rows = (await query.getResult()) as unknown as T[]
  return pageOf(rows, totalOf(page, rows.length) ?? (await query.getCount()), page)
}

/** A condition that keeps the rows with these ids. */
export const amongIds = (ids: readonly string[]): RawQueryFragment =>
  raw(`${alias}.id = any(?::uuid[])`, [`{${ids.join(',')}}`])
