// The revocation lists that were made: the latest of each, its octets, and what follows from it for the next one.
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Crl } from './rows/crl.ts'
import { statement } from './statement.ts'

/** Which list of a CA: of all its certificates (0) or those of a partition, complete or the delta to it. */
export interface ListName {
  readonly partition: number
  readonly delta: boolean
}

/** The complete list of all certificates of a CA. */
export const wholeList: ListName = { partition: 0, delta: false }

/** A list without its octets. */
export interface CrlFacts {
  readonly number: number
  readonly thisUpdate: Date
  readonly nextUpdate: Date
  readonly entries: number
  readonly fingerprint: string
  /** Whether deltas follow it. */
  readonly freshest: boolean
  /** The URLs by which certificates name its partition. */
  readonly urls: readonly string[]
}

const facts = ['number', 'thisUpdate', 'nextUpdate', 'entries', 'fingerprint', 'freshest', 'urls'] as const

/** The latest of the lists of a CA with this name, without its octets. */
export const latestCrlFacts = (em: EntityManager, caId: string, name = wholeList): Promise<CrlFacts | null> =>
  em.findOne(Crl, { caId, ...name }, { orderBy: { number: 'desc' }, fields: facts, disableIdentityMap: true })

/** The latest of the lists of a CA with this name. */
export const latestCrl = (em: EntityManager, caId: string, name = wholeList): Promise<Crl | null> =>
  em.findOne(Crl, { caId, ...name }, { orderBy: { number: 'desc' } })

/** So much of a list is read at a time: PostgreSQL sends octets as text of twice their length. */
const sliceLength = 4 * 2 ** 20

const slice = statement<{ length: number; part: Buffer }>(
  `select octet_length(der) as length, substring(der from $5::int + 1 for ${sliceLength}) as part from crl
    where ca_id = $1 and partition = $2 and delta = $3 and number = $4`,
)

/** The octets of one list of a CA; null when it is not kept any more. */
export const crlOctets = async (
  em: EntityManager,
  caId: string,
  { partition, delta, number }: ListName & { readonly number: number },
): Promise<Buffer | null> => {
  const sliceAt = async (offset: number) => (await slice.all(em, [caId, partition, delta, number, offset]))[0]
  const begin = await sliceAt(0)
  if (!begin) return null
  const octets = Buffer.allocUnsafe(begin.length)
  let end = begin.part.copy(octets)
  while (end < octets.length) {
    const next = await sliceAt(end)
    if (!next) return null
    end += next.part.copy(octets, end)
  }
  return octets
}

/** The number of the latest list of a CA, whichever: one sequence serves them all. */
export const latestNumber = async (em: EntityManager, caId: string): Promise<number> => {
  const [row] = await em.execute<{ number: string | null }[]>('select max(number) as number from crl where ca_id = ?', [
    caId,
  ])
  return Number(row?.number ?? 0)
}

/** The latest of each list of a CA that has a name. */
export const latestLists = async (em: EntityManager, caId: string) => {
  const rows = await em.execute<
    { partition: number; delta: boolean; this: string; next: string; freshest: boolean; urls: string[] }[]
  >(
    `select distinct on (partition, delta) partition, delta, this_update as this, next_update as next, freshest, urls
       from crl where ca_id = ? order by partition, delta, number desc`,
    [caId],
  )
  return rows.map(({ this: thisUpdate, next: nextUpdate, ...row }) => ({
    ...row,
    thisUpdate: new Date(thisUpdate),
    nextUpdate: new Date(nextUpdate),
  }))
}

/**
 * The number that the next delta begins at: that of the oldest complete list which is valid, so that whoever has kept one
 * can use the delta (RFC 5280 5.2.4), and which tells its scope by the same URLs; else that of the latest.
 */
export const baseNumber = async (
  em: EntityManager,
  { caId, partition, now }: { readonly caId: string; readonly partition: number; readonly now: Date },
): Promise<number> => {
  const [row] = await em.execute<{ number: string | null }[]>(
    `select coalesce(min(b.number) filter (where b.next_update > ?), max(b.number)) as number
       from crl b join lateral (select urls from crl where ca_id = b.ca_id and partition = b.partition and not delta
                                 order by number desc limit 1) last on last.urls = b.urls
      where b.ca_id = ? and b.partition = ? and not b.delta and b.freshest`,
    [now, caId, partition],
  )
  return Number(row?.number ?? 0)
}

/**
 * SQL: when the earlier of the latest complete lists was made that name the revoked certificates of a partition, its own and
 * that of all; both expressions name columns.
 */
export const leastThisUpdate = (caId: string, partition: string): string =>
  `select min(latest.this_update) as this_update from (select distinct on (partition) this_update from crl
     where ca_id = ${caId} and not delta and partition in (0, coalesce(${partition}, 0))
     order by partition, number desc) as latest`

/** So many of each list of a CA stay; readers have the latest. */
const kept = 3

// MikroORM would hold a list of 50 MB six times over.
const inserting = statement(
  `insert into crl (ca_id, partition, delta, number, this_update, next_update, entries, fingerprint, freshest, urls, der)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text[], $11)`,
)

/** SHA-256 in hex; others have their turn while many megabytes are hashed. */
const fingerprintOf = async (der: Buffer): Promise<string> => {
  const hash = createHash('sha256')
  for (let offset = 0; offset < der.length; offset += sliceLength) {
    hash.update(der.subarray(offset, offset + sliceLength))
    await setImmediate()
  }
  return hash.digest('hex')
}

/** Stores the next list; it is published when the transaction is. */
export const storeCrl = async (
  em: EntityManager,
  { der, ...crl }: Omit<CrlFacts, 'fingerprint'> & ListName & { readonly caId: string; readonly der: Buffer },
): Promise<CrlFacts> => {
  const { caId, partition, delta, ...stored } = crl
  const { number, thisUpdate, nextUpdate, entries, freshest, urls } = stored
  const fingerprint = await fingerprintOf(der)
  const dates = [number, thisUpdate, nextUpdate]
  await inserting.all(em, [caId, partition, delta, ...dates, entries, fingerprint, freshest, [...urls], der])
  await em.execute(
    `delete from crl where ca_id = ? and partition = ? and delta = ? and number < (select min(number) from
       (select number from crl where ca_id = ? and partition = ? and delta = ? order by number desc limit ${kept}) as latest)`,
    [caId, partition, delta, caId, partition, delta],
  )
  return { ...stored, fingerprint }
}
