// The alias of an end entity at its first issue (contract 5.3).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { EndEntity } from './end-entity.ts'

/** Sets the alias where it is empty and no other end entity of the realm has it; else all stays as it is. */
export const setAlias = async (em: EntityManager, { id, realmId }: EndEntity, alias: string): Promise<void> => {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 11))', [`alias/${realmId}/${alias.toLowerCase()}`])
  await em.execute(
    `update end_entity set alias = ?, version = version + 1, last_modified_date = now()
      where id = ? and alias is null and not exists (
        select 1 from end_entity other
         where other.realm_id = ? and lower(other.alias) = lower(?) and not other.archived)`,
    [alias, id, realmId, alias],
  )
}
