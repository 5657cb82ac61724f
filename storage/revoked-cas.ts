// CAs whose own certificate was revoked by the CA above, by its serial number (contract 12.1): they issue nothing any more.
import type { EntityManager } from '@mikro-orm/postgresql'
import { statement } from './statement.ts'

/** Whether a row of `ca` is such a CA, as SQL. */
export const isRevokedCa = (ca: string): string =>
  `exists (select from kept_revocation k
     where k.issuer_ca_id = ${ca}.issuer_ca_id and k.serial_number = ${ca}.serial_number)`

/** Whether a CA was revoked. */
export const wasRevoked = async (em: EntityManager, caId: string): Promise<boolean> =>
  (await revoked.all(em, [caId])).length > 0
const revoked = statement<object>(`select from ca where id = $1 and ${isRevokedCa('ca')}`)
