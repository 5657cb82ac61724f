// Who has a password for what, as a condition on a list (contract 12).
import { raw, type RawQueryFragment } from '@mikro-orm/postgresql'
import { alias } from './search.ts'

/** A condition that keeps the policies for which an end entity has no password. */
export const withoutPasswordOf = (endEntityId: string): RawQueryFragment =>
  raw(
    `not exists (select 1 from end_entity_password p where p.policy_id = ${alias}.id and p.end_entity_id = ?::uuid)`,
    [endEntityId],
  )
