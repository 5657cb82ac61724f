// What the records say for OCSP (RFC 6960): who signs for a CA, whose signer is due, and how certificates stand.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { RevocationReason } from '../domain/enums.ts'
import { anyOf, statement } from './statement.ts'

/** A CA of ours as its responder works. */
export interface Responder {
  readonly caId: string
  /** Whether a delegated signer signs; else the CA itself does. */
  readonly delegated: boolean
  /** The present signer. */
  readonly signerId: string | null
}

const answering = statement<{ delegated: boolean; signer: string | null }>(
  `select coalesce((p.settings->>'ocspSigner')::boolean, true) as delegated, s.id as signer
     from ca join certificate_provider p on p.id = ca.certificate_provider_id
     left join ocsp_signer s on s.ca_id = ca.id and s.retired_date is null
    where ca.id = $1 and ca.private_key_id is not null`,
)

/** The responder of a CA, archived or not; null where its key is not ours. */
export const findResponder = async (em: EntityManager, caId: string): Promise<Responder | null> => {
  const [row] = await answering.all(em, [caId])
  return row ? { caId, delegated: row.delegated, signerId: row.signer } : null
}

/** How a certificate of a CA stands. */
export interface IssuedStatus {
  readonly revocationDate: Date | null
  readonly revocationReason: RevocationReason | null
  /** Changes with every change of the status. */
  readonly version: number
}

interface Row {
  readonly serial: string
  readonly date: string | null
  readonly reason: RevocationReason | null
  readonly version: number
}

/** SQL: whether a revocation is kept of the serial number of a row. */
const isKept = (row: string): string =>
  `exists (select from kept_revocation k where k.issuer_ca_id = $1 and k.serial_number = ${row}.serial_number)`

// Those of a CA are told once each: what was deleted after its revocation is no certificate any more. What was imported was
// not issued here, whatever it says. CA certificates and signers are good unless they were revoked by their serial number.
const standing = statement<Row>(
  `select serial_number as serial, revocation_date as date, revocation_reason as reason, version from certificate
    where serial_number = ${anyOf('$2::text[]')} and issuer_ca_id = $1 and not imported
   union all
   select serial_number, revocation_date, revocation_reason, 0 from kept_revocation
    where issuer_ca_id = $1 and serial_number = ${anyOf('$2::text[]')}
   union all
   select serial_number, null, null, 0 from ca
    where serial_number = ${anyOf('$2::text[]')} and (issuer_ca_id = $1 or id = $1 and root)
      and certificate_provider_id is not null and not ${isKept('ca')}
   union all
   select serial_number, null, null, 0 from ocsp_signer
    where ca_id = $1 and serial_number = ${anyOf('$2::text[]')} and not ${isKept('ocsp_signer')}`,
)

/** How the certificates of a CA with these serial numbers (hexadecimal) stand; what it never issued is not there. */
export const findStatuses = async (
  em: EntityManager,
  caId: string,
  serialNumbers: readonly string[],
): Promise<ReadonlyMap<string, IssuedStatus>> => {
  const rows = await standing.all(em, [caId, serialNumbers])
  return new Map(
    rows.map(({ serial, date, reason, version }) => [
      serial,
      { revocationDate: date === null ? null : new Date(date), revocationReason: reason, version },
    ]),
  )
}

/** The CAs that lack a delegated signer, or whose signer was revoked, or ends before a date though the CA does not. */
export const dueOcspSigners = async (
  em: EntityManager,
  {
    now,
    before,
    caId = null,
  }: { readonly now: Date; readonly before: Date; readonly caId?: string | null | undefined },
): Promise<string[]> => {
  const rows = await em.execute<{ id: string }[]>(
    `select ca.id from ca join certificate_provider p on p.id = ca.certificate_provider_id
       left join ocsp_signer s on s.ca_id = ca.id and s.retired_date is null
      where ca.private_key_id is not null and ca.valid_not_after > ? and (?::uuid is null or ca.id = ?::uuid)
        and coalesce((p.settings->>'ocspSigner')::boolean, true)
        and (s.id is null or s.valid_not_after < ? and s.valid_not_after < ca.valid_not_after or exists
          (select from kept_revocation k where k.issuer_ca_id = ca.id and k.serial_number = s.serial_number))
      order by s.valid_not_after nulls first`,
    [now, caId, caId, before],
  )
  return rows.map(({ id }) => id)
}

/** Takes the present signer of a CA out of use and erases its key; its certificate stays. */
export const retireOcspSigner = async (em: EntityManager, caId: string, now: Date): Promise<void> => {
  await em.execute(
    `with former as (select id, private_key_id from ocsp_signer where ca_id = ? and retired_date is null for update),
       retired as (update ocsp_signer s set retired_date = ?, private_key_id = null from former f where s.id = f.id)
     delete from private_key where id in (select private_key_id from former)`,
    [caId, now],
  )
}
