// What issuing asks the records about certificates that exist already.
import type { EntityManager } from '@mikro-orm/postgresql'
import { anyOf, statement } from './statement.ts'

/** The notAfter of the latest certificate of each end entity that is ACTIVE now under one policy. */
export const latestActive = async (
  em: EntityManager,
  policyId: string,
  { endEntityIds, now }: { readonly endEntityIds: readonly string[]; readonly now: Date },
): Promise<ReadonlyMap<string, Date>> => {
  const rows = await em.execute<{ id: string; latest: string | Date }[]>(
    `select end_entity_id as id, max(valid_not_after) as latest from certificate
      where policy_id = ? and end_entity_id = any(?::uuid[]) and revocation_date is null
        and valid_not_after >= ? and not archived
      group by end_entity_id`,
    [policyId, `{${endEntityIds.join(',')}}`, now],
  )
  return new Map(rows.map(({ id, latest }) => [id, new Date(latest)]))
}

const besides = statement<{ id: string; latest: string | Date }>(
  `select r.id, max(c.valid_not_after) as latest from cert_request r
     join certificate c on c.policy_id = r.policy_id and c.end_entity_id = r.end_entity_id
    where r.id = ${anyOf('$1::uuid[]')} and c.revocation_date is null and c.valid_not_after >= $2 and not c.archived
    group by r.id`,
)

/** The same for the end entity and the policy of each of these requests, by the id of the request. */
export const latestBeside = async (
  em: EntityManager,
  requestIds: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, Date>> => {
  if (requestIds.length === 0) return new Map()
  const rows = await besides.all(em, [requestIds, now])
  return new Map(rows.map(({ id, latest }) => [id, new Date(latest)]))
}
