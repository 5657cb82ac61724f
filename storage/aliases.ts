// The alias of end entities at their first issue (contract 5.3).
import type { EntityManager } from '@mikro-orm/postgresql'
import { comparable } from '../domain/end-entity-rules.ts'

/** An end entity without an alias, and the one that it would get. */
export interface AliasWish {
  readonly id: string
  readonly realmId: string
  readonly alias: string
}

const keyOf = ({ realmId, alias }: AliasWish): string => `alias/${realmId}/${comparable(alias)}`

/** The first wish of each end entity, and of those for the same alias of a realm the first. */
const withoutRivals = (wishes: readonly AliasWish[]): AliasWish[] => {
  const byEntity = new Map(wishes.toReversed().map(wish => [wish.id, wish]))
  const byAlias = new Map([...byEntity.values()].map(wish => [keyOf(wish), wish]))
  return [...byAlias.values()]
}

/** Locks in one order, so that two transactions never wait for each other in a ring. */
const lock = (em: EntityManager, wishes: readonly AliasWish[]): Promise<unknown> =>
  em.execute(
    `select pg_advisory_xact_lock(key) from
       (select distinct hashtextextended(text, 11) as key from jsonb_array_elements_text(?::jsonb) as text order by key) as keys`,
    [JSON.stringify(wishes.map(keyOf))],
  )

/** Sets aliases where they are empty and no other end entity of the realm has them; else all stays as it is. */
export const setAliases = async (em: EntityManager, all: readonly AliasWish[]): Promise<void> => {
  const wishes = withoutRivals(all)
  if (wishes.length === 0) return
  await lock(em, wishes)
  await em.execute(
    `update end_entity set alias = wish.alias, version = version + 1, last_modified_date = now()
       from jsonb_to_recordset(?::jsonb) as wish(id uuid, "realmId" uuid, alias text)
      where end_entity.id = wish.id and end_entity.alias is null and not exists (
        select 1 from end_entity other
         where other.realm_id = wish."realmId" and comparable(other.alias) = comparable(wish.alias) and not other.archived)`,
    [JSON.stringify(wishes)],
  )
}
