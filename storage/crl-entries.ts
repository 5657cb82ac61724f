// What revocation lists tell: what is noted of the changes that a list tells first, and the entries of complete lists and of
// deltas, some at a time.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { RevocationReason } from '../domain/enums.ts'

/** A list of a CA that is being made. */
export interface NextList {
  readonly caId: string
  /** 0 for the list of all certificates. */
  readonly partition: number
  readonly number: number
  readonly now: Date
}

/** The partition of a row as lists name it, `null` being 0. */
const partitionOf = (row: string): string => `coalesce(${row}.crl_partition, 0)`

const told = `serial_number, revocation_date, revocation_reason`

/** Notes what came of pending rows: each has one change, the latest. A release is told by the time at which it is. */
const keeping = `insert into crl_change (ca_id, serial_number, partition, number, revocation_date, revocation_reason)
   select distinct on (serial_number) ?::uuid, serial_number, ?::int, ?::bigint, coalesce(revocation_date, ?::timestamptz),
          case when revocation_date is null then 'REMOVE_FROM_CRL' else revocation_reason end from told
   on conflict (ca_id, serial_number) do update set partition = excluded.partition, number = excluded.number,
     revocation_date = excluded.revocation_date, revocation_reason = excluded.revocation_reason`

const noting = {
  certificate: `update certificate set crl_pending = false, revocation_crl_number = ? where id in
     (select id from certificate c where issuer_ca_id = ? and crl_pending and ${partitionOf('c')} = ?
       order by id for update skip locked)`,
  kept: `update kept_revocation set crl_pending = false where (issuer_ca_id, serial_number) in
     (select issuer_ca_id, serial_number from kept_revocation k where issuer_ca_id = ? and crl_pending
         and ${partitionOf('k')} = ? order by serial_number for update skip locked)`,
}

/**
 * Notes that the list of this number tells what is recorded of the certificates of its partition. They are locked from here
 * on, so that the list tells exactly this; those that are being revoked again right now are left to the next list. Where
 * deltas are made the changes stay for them, whatever becomes of the certificates.
 */
export const noteInCrl = async (em: EntityManager, list: NextList, keepsChanges: boolean): Promise<void> => {
  const { caId, partition, number, now } = list
  const note = (statement: string, values: unknown[]) =>
    keepsChanges
      ? em.execute(`with told as (${statement} returning ${told}) ${keeping}`, [
          ...values,
          caId,
          partition,
          number,
          now,
        ])
      : em.execute(statement, values)
  await note(noting.certificate, [number, caId, partition])
  await note(noting.kept, [caId, partition])
}

/** What a list says of one certificate. */
export interface ListedCertificate {
  readonly serialNumber: string
  readonly revocationDate: Date
  readonly reason: RevocationReason | null
}

/** So many are in memory at once. */
const atOnce = 5000

interface Listed {
  readonly serial_number: string
  readonly revocation_date: string | Date
  readonly revocation_reason: RevocationReason | null
}

async function* entriesOf(em: EntityManager, query: string, values: unknown[]): AsyncGenerator<ListedCertificate[]> {
  await em.execute(`declare crl_entries no scroll cursor for ${query}`, values)
  for (;;) {
    const rows = await em.execute<Listed[]>(`fetch ${atOnce} from crl_entries`)
    if (rows.length > 0)
      yield rows.map(row => ({
        serialNumber: row.serial_number,
        revocationDate: new Date(row.revocation_date),
        reason: row.revocation_reason,
      }))
    if (rows.length < atOnce) break
  }
  await em.execute('close crl_entries')
}

/**
 * The certificates that the next complete list names, some at a time, from one snapshot: those issued here that are revoked
 * and had not expired when the former complete list was made, so that each stands in one list after its end (RFC 5280 3.3);
 * those that were deleted since among them. The list of all names those of partitions as well.
 */
export const listedCertificates = (
  em: EntityManager,
  { caId, partition, after }: Pick<NextList, 'caId' | 'partition'> & { readonly after: Date },
): AsyncGenerator<ListedCertificate[]> => {
  const within = partition === 0 ? '' : 'and crl_partition = ?'
  const values = partition === 0 ? [caId, after] : [caId, after, partition]
  return entriesOf(
    em,
    `select ${told} from certificate
      where issuer_ca_id = ? and valid_not_after >= ? ${within} and revocation_date is not null and not imported
     union all
     select ${told} from kept_revocation where issuer_ca_id = ? and valid_not_after >= ? ${within}`,
    [...values, ...values],
  )
}

/** The certificates whose status changed since a complete list was made (RFC 5280 5.2.4), some at a time. */
export const changedCertificates = (
  em: EntityManager,
  { caId, partition, since }: Pick<NextList, 'caId' | 'partition'> & { readonly since: number },
): AsyncGenerator<ListedCertificate[]> =>
  entriesOf(em, `select ${told} from crl_change where ca_id = ? and number > ? and (? = 0 or partition = ?)`, [
    caId,
    since,
    partition,
    partition,
  ])

/** Removes the changes of a CA that every complete list tells which is kept. */
export const dropOldChanges = async (em: EntityManager, caId: string): Promise<void> => {
  await em.execute(
    `delete from crl_change where ca_id = ? and number <= (select min(number) from crl where ca_id = ? and not delta)`,
    [caId, caId],
  )
}
