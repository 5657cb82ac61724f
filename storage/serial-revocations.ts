// Revoking by its serial number what a CA signed and the records do not have (contract 4.3): a certificate whose storing
// failed, one that was issued after the moment that a copy of the database brought back, a CA below.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { RevocationReason } from '../domain/enums.ts'
import { record } from './audit.ts'
import type { Ca } from './rows/ca.ts'
import { statement } from './statement.ts'

/** What is revoked. */
export interface SerialRevocation {
  /** Hexadecimal, lower case, without leading zeros. */
  readonly serialNumber: string
  readonly reason: RevocationReason
  readonly date: Date
  /** Until when lists name it. */
  readonly validNotAfter: Date
  readonly partition: number | null
}

/** The certificate that a CA issued here by a serial number, if the records have it. */
export const findIssued = async (em: EntityManager, caId: string, serialNumber: string): Promise<string | null> =>
  (await issued.all(em, [caId, serialNumber]))[0]?.id ?? null
const issued = statement<{ id: string }>(
  'select id from certificate where issuer_ca_id = $1 and serial_number = $2 and not imported',
)

/** Until when a certificate of the infrastructure below a CA is valid, another CA or an OCSP signer; null for others. */
export const findInfrastructureEnd = async (em: EntityManager, caId: string, serialNumber: string) => {
  const [row] = await infrastructure.all(em, [caId, serialNumber])
  return row ? new Date(row.end) : null
}
const infrastructure = statement<{ end: string }>(
  `select valid_not_after as end from ca where issuer_ca_id = $1 and serial_number = $2
   union all select valid_not_after from ocsp_signer where ca_id = $1 and serial_number = $2`,
)

/** Records the revocation, which the next list tells and OCSP at once; false where it was recorded before. */
export const revokeSerial = async (em: EntityManager, ca: Ca, revocation: SerialRevocation): Promise<boolean> => {
  const { serialNumber, reason, date, validNotAfter, partition } = revocation
  const rows = await em.execute<object[]>(
    `insert into kept_revocation
       (issuer_ca_id, serial_number, valid_not_after, revocation_date, revocation_reason, crl_partition, crl_pending)
     values (?, ?, ?, ?, ?, ?, true) on conflict do nothing returning serial_number`,
    [ca.id, serialNumber, validNotAfter, date, reason, partition],
  )
  if (rows.length === 0) return false
  const what = `Serial number ${serialNumber} of CA ${ca.subjectDn} revoked with ${reason}`
  record(em, { type: 'CERTIFICATE_REVOKED', objectId: ca.id, what })
  return true
}
