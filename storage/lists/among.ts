// Conditions on a column whose values are found beforehand, so that the planner knows how many there are.
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'

/** How many values a condition names itself; more are left to a subquery. */
const maxNamed = 1000

/** The values that a column may have: a statement that selects them as `value`. */
export interface Values {
  readonly sql: string
  readonly params: readonly unknown[]
  readonly type: 'uuid' | 'bigint'
}

/** A condition that keeps the rows whose column is among the values; undefined when there are none. */
export const among = async (
  em: EntityManager,
  column: string,
  { sql, params, type }: Values,
): Promise<RawQueryFragment | undefined> => {
  const rows = await em.execute<{ value: string }[]>(`${sql} limit ${maxNamed + 1}`, [...params])
  if (rows.length === 0) return undefined
  if (rows.length > maxNamed) return raw(`${column} = any(array(${sql}))`, [...params])
  return raw(`${column} = any(?::${type}[])`, [`{${rows.map(({ value }) => value).join(',')}}`])
}

/** A condition that any of these fulfils; no row does when there is none. */
export const anyOf = (conditions: readonly (RawQueryFragment | undefined)[]): RawQueryFragment => {
  const present = conditions.filter(condition => condition !== undefined)
  if (present.length === 0) return raw('false')
  return raw(
    `(${present.map(({ sql }) => sql).join(' or ')})`,
    present.flatMap(({ params }) => [...params]),
  )
}
