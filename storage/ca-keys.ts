// Taking a CA back that has issued nothing (contract 10.6): its own issuer tells of it, its key is erased, its record archived.
import type { EntityManager } from '@mikro-orm/postgresql'
import { record } from './audit.ts'
import type { Ca } from './rows/ca.ts'
import { actor } from './rows/stamp.ts'

/** Lets the next list of a CA's issuer tell that the CA has ceased to operate; a root that signed itself has nobody to say so. */
export const revokeCa = async (em: EntityManager, ca: Ca, now: Date): Promise<void> => {
  if (!ca.issuerCaId) return
  await em.execute(
    `insert into kept_revocation
       (issuer_ca_id, serial_number, valid_not_after, revocation_date, revocation_reason, crl_pending)
     values (?, ?, ?, ?, 'CESSATION_OF_OPERATION', true) on conflict do nothing`,
    [ca.issuerCaId, ca.serialNumber, ca.validNotAfter, now],
  )
}

/** Erases the key of a CA and archives its record, which nobody trusts any more. */
export const retireCa = async (em: EntityManager, ca: Ca, now: Date): Promise<void> => {
  const { id, type } = actor(em)
  const keyId = ca.privateKeyId
  Object.assign(ca, { privateKeyId: null, trusted: false })
  Object.assign(ca, { archived: true, archivedDate: now, archivedBy: id, archivedByType: type })
  record(em, { type: 'ENTITY_ARCHIVED', objectId: ca.id, what: `CA ${ca.subjectDn} taken back and archived` })
  await em.flush()
  if (keyId) await em.execute('delete from private_key where id = ?', [keyId])
}
