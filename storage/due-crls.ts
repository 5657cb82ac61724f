// Which revocation lists of our CAs are to be made now. Lists that certificates name stay made, whatever the settings of the
// provider say today: each that was ever made is made again, with its deltas.
import type { EntityManager } from '@mikro-orm/postgresql'

/** A list that is to be made. */
export interface DueList {
  readonly caId: string
  /** 0 for the list of all certificates. */
  readonly partition: number
  /** Whether a complete list is made, else a delta alone. */
  readonly complete: boolean
  /** Whether it has deltas. */
  readonly deltas: boolean
  /** Whether what lists of the CA tell is kept for deltas, of any of them. */
  readonly changes: boolean
}

/** What is looked for: lists of all CAs or of one, at a time, and what the URLs of lists begin with. */
export interface Due {
  readonly now: Date
  readonly prefix: string
  readonly caId?: string
}

const half = (list: string): string => `${list}.this_update + (${list}.next_update - ${list}.this_update) / 2 <= ?`

/** The values in their order: the time, the CA twice, the time, the prefix, the time. */
const looking = `with alive as (
    select ca.id, case when p.issuing_ca_id = ca.id then coalesce((p.settings->>'crlPartitions')::int, 1) else 1 end as partitions,
           (not ca.root or p.settings->>'hierarchy' = 'SINGLE') and coalesce((p.settings->>'deltaCrlHours')::int, 0) > 0 as deltas
      from ca join certificate_provider p on p.id = ca.certificate_provider_id
     where ca.private_key_id is not null and ca.valid_not_after > ? and (?::uuid is null or ca.id = ?::uuid)),
  latest as (
    select distinct on (ca_id, partition, delta) ca_id as id, partition, delta, this_update, next_update, urls
      from crl order by ca_id, partition, delta, number desc),
  pending as (
    select a.id, waiting.partition from alive a cross join lateral (
      select coalesce(crl_partition, 0) as partition from certificate where crl_pending and issuer_ca_id = a.id
      union select coalesce(crl_partition, 0) from kept_revocation where crl_pending and issuer_ca_id = a.id) waiting),
  lists as (
    select id, 0 as partition from alive
    union select id, generate_series(1, partitions) from alive where partitions > 1
    union select id, partition from latest union select id, partition from pending),
  judged as (
    select a.id, l.partition, a.deltas or fresh.id is not null as deltas, pending.id is not null as waits,
           a.deltas or exists (select from latest where latest.id = a.id and latest.delta) as changes,
           base.next_update as next_update,
           base.id is null or ${half('base')} or (a.deltas and fresh.id is null) or (pending.id is not null and not a.deltas)
             or (l.partition > 0 and not (?::text || '/crl/' || a.id || '-' || l.partition || '.crl' = any(base.urls))) as complete,
           coalesce(${half('fresh')}, false) or (pending.id is not null and a.deltas) as delta
      from alive a join lists l on l.id = a.id
      left join pending on pending.id = a.id and pending.partition = l.partition
      left join latest base on base.id = a.id and base.partition = l.partition and not base.delta
      left join latest fresh on fresh.id = a.id and fresh.partition = l.partition and fresh.delta)
  select id as "caId", partition, complete, deltas, changes from judged where complete or delta
   order by waits desc, next_update nulls first, id, partition`

/**
 * The lists that are missing or past half of their validity, or have something yet to tell, what is waited for first. A
 * revocation is told by a delta where the provider makes them, else by a complete list.
 */
export const dueLists = (em: EntityManager, { now, prefix, caId }: Due): Promise<DueList[]> =>
  em.execute<DueList[]>(looking, [now, caId ?? null, caId ?? null, now, prefix, now])
