// The alias of end entities at their first issue (contract 5.3).
import type { EntityManager } from '@mikro-orm/postgresql'
import { comparable } from '../domain/end-entity-rules.ts'
import { takeKeyedLocks } from './lock.ts'
import { statement } from './statement.ts'

/** The alias that an end entity without one is to get. */
export interface NewAlias {
  /** The id of the end entity. */
  readonly id: string
  readonly realmId: string
  readonly alias: string
}

const keyOf = ({ realmId, alias }: NewAlias): string => `alias/${realmId}/${comparable(alias)}`

/** The first alias for each end entity, and of those that are equal within a realm the first. */
const withoutRivals = (aliases: readonly NewAlias[]): NewAlias[] => {
  const byEntity = new Map(aliases.toReversed().map(one => [one.id, one]))
  const byAlias = new Map([...byEntity.values()].map(one => [keyOf(one), one]))
  return [...byAlias.values()]
}

/** What an alias must not be of another end entity: at the first issue, and, when somebody chooses it, of every strategy. */
const knownBy = {
  ISSUE: ['alias', 'common_name', 'external_id'],
  HAND: ['alias', 'common_name', 'external_id', 'email', 'domains[1]', 'ips[1]'],
} as const

/**
 * A condition: no other living end entity of the realm is known by the text of a row. With `offset 0` each row asks the
 * index: the planner would else read every end entity of the installation and compute what it is known by.
 */
const isFree = (columns: readonly string[], row: { realmId: string; id: string; text: string }): string =>
  columns
    .map(
      column => `not exists (select 1 from end_entity other where other.realm_id = ${row.realmId} and other.id <> ${row.id}
        and comparable((other.${column})) = comparable(${row.text}) and not other.archived offset 0)`,
    )
    .join(' and ')

/** The keys under which the ALIAS locks of these aliases are taken. */
export const aliasLocks = (aliases: readonly NewAlias[]): string[] => aliases.map(keyOf)

// Materialized: the planner would else look for rivals once for each pair of a given alias and an end entity.
const setting = statement<{ id: string }>(
  `with given as materialized (
     select * from unnest($1::uuid[], $2::uuid[], $3::text[]) as given(id, realm_id, alias)),
   free as materialized (select * from given where ${isFree(knownBy.ISSUE, { realmId: 'given.realm_id', id: 'given.id', text: 'given.alias' })})
   update end_entity set alias = free.alias, version = version + 1, last_modified_date = $4
     from free where end_entity.id = free.id and end_entity.alias is null`,
)

/** As setAliases, in a transaction that holds the locks of these aliases since before it wrote anything. */
export const setLockedAliases = async (em: EntityManager, all: readonly NewAlias[], now: Date): Promise<void> => {
  const aliases = withoutRivals(all)
  if (aliases.length === 0) return
  const columns = [
    aliases.map(({ id }) => id),
    aliases.map(({ realmId }) => realmId),
    aliases.map(({ alias }) => alias),
  ]
  await setting.all(em, [...columns, now])
}

/**
 * Sets aliases where they are empty and no other end entity of the realm is known by them; else all stays as it is. What
 * is known by its own fields would else lend them to whoever has the alias, which look-ups prefer.
 */
export const setAliases = async (em: EntityManager, all: readonly NewAlias[], now: Date): Promise<void> => {
  await takeKeyedLocks(em, 'ALIAS', aliasLocks(withoutRivals(all)))
  await setLockedAliases(em, all, now)
}

/** Whether an end entity could not get an alias because another one of its realm is known by it. */
export const isAliasTaken = async (em: EntityManager, { id, realmId, alias }: NewAlias): Promise<boolean> => {
  const [row] = await em.execute<{ taken: boolean }[]>(
    `select not (${isFree(knownBy.HAND, { realmId: 'given.realm_id', id: 'given.id', text: 'given.alias' })}) as taken
       from (select ?::uuid as id, ?::uuid as realm_id, ?::text as alias) as given`,
    [id, realmId, alias],
  )
  return row?.taken === true
}
