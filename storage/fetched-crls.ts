// Revocation lists of other CAs: the latest of each URL is kept, an older one never takes the place of a newer.
import type { EntityManager } from '@mikro-orm/postgresql'
import { FetchedCrl } from './rows/fetched-crl.ts'
import { statement } from './statement.ts'

/** A list that was fetched. */
export interface NewFetchedCrl {
  readonly caId: string
  readonly url: string
  readonly thisUpdate: Date
  readonly nextUpdate: Date | null
  readonly fetchedDate: Date
  readonly der: Buffer
}

const storing = statement(
  `insert into fetched_crl (ca_id, url, this_update, next_update, fetched_date, der) values ($1, $2, $3, $4, $5, $6)
   on conflict (ca_id, url) do update set this_update = excluded.this_update, next_update = excluded.next_update,
     fetched_date = excluded.fetched_date, der = excluded.der
   where fetched_crl.this_update <= excluded.this_update`,
)

/** Keeps a list. */
export const storeFetchedCrl = async (em: EntityManager, list: NewFetchedCrl): Promise<void> => {
  const { caId, url, thisUpdate, nextUpdate, fetchedDate, der } = list
  await storing.all(em, [caId, url, thisUpdate, nextUpdate, fetchedDate, der])
}

/** The first of these URLs whose list is kept: fetched since a moment, and valid at another. */
export const findFetchedCrl = async (
  em: EntityManager,
  { caId, urls }: { readonly caId: string; readonly urls: readonly string[] },
  { since, now }: { readonly since: Date; readonly now: Date },
): Promise<FetchedCrl | null> => {
  const valid = { $or: [{ nextUpdate: null }, { nextUpdate: { $gte: now } }] }
  const where = { caId, url: { $in: [...urls] }, fetchedDate: { $gte: since }, ...valid }
  const rows = await em.find(FetchedCrl, where, {
    disableIdentityMap: true,
    orderBy: { fetchedDate: 'desc' },
    limit: 1,
  })
  return rows[0] ?? null
}
