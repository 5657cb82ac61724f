// The lists of audit events (contract 11.1), newest first: their ids grow in the order in which they are written.
import type { EntityManager } from '@mikro-orm/postgresql'
import { AuditEvent } from '../rows/audit-event.ts'
import type { Certificate } from '../rows/certificate.ts'

/** The most events that are answered for one certificate, however often it was downloaded. */
const maxEvents = 10_000

/** So many events of a realm are its latest. */
const latest = 20

/** The latest events of a realm. */
export const findLatestEvents = (em: EntityManager, realmId: string): Promise<AuditEvent[]> =>
  em.find(AuditEvent, { realmId }, { orderBy: { id: 'desc' }, limit: latest })

/** The newest events of a certificate and of its request; either condition has an index. */
export const findCertificateEvents = (
  em: EntityManager,
  { id, certRequestId }: Pick<Certificate, 'id' | 'certRequestId'>,
): Promise<AuditEvent[]> => {
  const where = { $or: [{ certificateId: id }, { objectId: certRequestId }] }
  return em.find(AuditEvent, where, { orderBy: { id: 'desc' }, limit: maxEvents })
}
