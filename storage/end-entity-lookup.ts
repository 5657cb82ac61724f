// Looking end entities up by alias or by the field of a strategy (contract 5.3): many at once, each by an index.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { EndEntityStrategy } from '../domain/enums.ts'
import { isStorableText } from './storable-text.ts'

/** Where a strategy finds its key; a subject DN is no column, so those with the common name are its candidates. */
const columns = {
  COMMON_NAME: 'ee.common_name',
  SUBJECT_DN: 'ee.common_name',
  EMAIL: 'ee.email',
  DOMAIN: '(ee.domains)[1]',
  IP: '(ee.ips)[1]',
  EXTERNAL_ID: 'ee.external_id',
} as const satisfies Record<Exclude<EndEntityStrategy, 'UUID'>, string>

/** A strategy that looks end entities up by what names them. */
export type LookupStrategy = keyof typeof columns

/** Which end entities are searched. */
export interface LookupScope {
  readonly realmId: string
  readonly archived: boolean
}

const idsBy = async (
  em: EntityManager,
  column: string,
  { realmId, archived, keys }: LookupScope & { keys: readonly string[] },
): Promise<Map<string, string[]>> => {
  // Keys may come from untrusted PKCS#10 requests; PostgreSQL would refuse the whole query for text that no row can hold.
  const storable = [...new Set(keys)].filter(isStorableText)
  const rows = await em.execute<{ key: string; id: string }[]>(
    `select wanted.key, ee.id from jsonb_array_elements_text(?::jsonb) as wanted(key)
       join end_entity ee on ee.realm_id = ? and comparable(${column}) = comparable(wanted.key)
      where ee.archived = ? order by ee.created_date, ee.id`,
    [JSON.stringify(storable), realmId, archived],
  )
  const grouped = Map.groupBy(rows, ({ key }) => key)
  return new Map([...grouped].map(([key, found]) => [key, found.map(({ id }) => id)]))
}

/** The ids of the end entities with these aliases, by alias as it was asked for. */
export const idsByAlias = (em: EntityManager, scope: LookupScope, aliases: readonly string[]) =>
  idsBy(em, 'ee.alias', { ...scope, keys: aliases })

/** The ids of the end entities that a strategy's field leads to, by its value as it was asked for. */
export const idsByField = (
  em: EntityManager,
  strategy: LookupStrategy,
  scope: LookupScope & { readonly values: readonly string[] },
) => idsBy(em, columns[strategy], { ...scope, keys: scope.values })
