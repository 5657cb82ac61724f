// What the records say about the revocation lists of our CAs: which are due, what they name, and the latest of each.
import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { RevocationReason } from '../domain/enums.ts'
import { Crl } from './rows/crl.ts'

/** A list without its octets. */
export interface CrlFacts {
  readonly number: number
  readonly thisUpdate: Date
  readonly nextUpdate: Date
  readonly entries: number
  readonly fingerprint: string
}

const facts = ['number', 'thisUpdate', 'nextUpdate', 'entries', 'fingerprint'] as const

/** The latest list of a CA without its octets. */
export const latestCrlFacts = (em: EntityManager, caId: string): Promise<CrlFacts | null> =>
  em.findOne(Crl, { caId }, { orderBy: { number: 'desc' }, fields: facts, disableIdentityMap: true })

/** The latest list of a CA. */
export const latestCrl = (em: EntityManager, caId: string): Promise<Crl | null> =>
  em.findOne(Crl, { caId }, { orderBy: { number: 'desc' } })

/** The octets of one list of a CA; null when it is not kept any more. */
export const crlOctets = async (em: EntityManager, caId: string, number: number): Promise<Buffer | null> =>
  (await em.findOne(Crl, { caId, number }, { fields: ['der'], disableIdentityMap: true }))?.der ?? null

/** The CAs with a key of ours whose list is missing, past half of its validity, or has something yet to tell. */
export const dueCas = async (em: EntityManager, now: Date, caId: string | null = null): Promise<string[]> => {
  const rows = await em.execute<{ id: string }[]>(
    `select ca.id from ca left join lateral
       (select this_update, next_update from crl where ca_id = ca.id order by number desc limit 1) last on true
      where ca.private_key_id is not null and ca.certificate_provider_id is not null and ca.valid_not_after > ?
        and (?::uuid is null or ca.id = ?::uuid)
        and (last.this_update is null or last.this_update + (last.next_update - last.this_update) / 2 <= ?
          or exists (select 1 from certificate c where c.issuer_ca_id = ca.id and c.crl_pending)
          or exists (select 1 from kept_revocation k where k.issuer_ca_id = ca.id and k.crl_pending))
      order by last.next_update nulls first`,
    [now, caId, caId, now],
  )
  return rows.map(({ id }) => id)
}

/**
 * Notes that the list of this number tells what is recorded of the certificates of a CA. They are locked from here on, so
 * that the list tells exactly this; those that are being revoked again right now are left to the next list.
 */
export const noteInCrl = async (em: EntityManager, caId: string, number: number): Promise<void> => {
  await em.execute(
    `update certificate set crl_pending = false, revocation_crl_number = ? where id in
       (select id from certificate where issuer_ca_id = ? and crl_pending order by id for update skip locked)`,
    [number, caId],
  )
  await em.execute(
    `update kept_revocation set crl_pending = false where (issuer_ca_id, serial_number) in
       (select issuer_ca_id, serial_number from kept_revocation where issuer_ca_id = ? and crl_pending
         order by serial_number for update skip locked)`,
    [caId],
  )
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

/**
 * The certificates that the next list of a CA names, some at a time, from one snapshot: those issued here that are revoked
 * and had not expired when the former list was made, so that each stands in one list after its end (RFC 5280 3.3); those
 * that were deleted since among them.
 */
export async function* listedCertificates(
  em: EntityManager,
  { caId, after }: { readonly caId: string; readonly after: Date },
): AsyncGenerator<ListedCertificate[]> {
  await em.execute(
    `declare crl_entries no scroll cursor for
      select serial_number, revocation_date, revocation_reason from certificate
       where issuer_ca_id = ? and valid_not_after >= ? and revocation_date is not null and not imported
      union all
      select serial_number, revocation_date, revocation_reason from kept_revocation
       where issuer_ca_id = ? and valid_not_after >= ?`,
    [caId, after, caId, after],
  )
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

/** So many lists of a CA stay; readers have the latest. */
const kept = 3

/** Stores the next list of a CA; it is published when the transaction is. */
export const storeCrl = async (
  em: EntityManager,
  crl: Omit<CrlFacts, 'fingerprint'> & { readonly caId: string; readonly der: Buffer },
): Promise<CrlFacts> => {
  const fingerprint = createHash('sha256').update(crl.der).digest('hex')
  await em.insert(Crl, { ...crl, fingerprint })
  await em.execute(
    `delete from crl where ca_id = ? and number <
       (select min(number) from (select number from crl where ca_id = ? order by number desc limit ${kept}) as latest)`,
    [crl.caId, crl.caId],
  )
  const { number, thisUpdate, nextUpdate, entries } = crl
  return { number, thisUpdate, nextUpdate, entries, fingerprint }
}
