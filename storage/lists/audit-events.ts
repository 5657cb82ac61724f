// The lists of audit events (contract 11.1), newest first: their numbers grow in the order in which they are written.
import type { EntityManager } from '@mikro-orm/postgresql'
import { AuditEvent } from '../rows/audit-event.ts'
import type { Certificate } from '../rows/certificate.ts'

/** How many events of a certificate are told: downloads can be many. */
const maxEvents = 10_000

/** The newest events of a certificate and of its request. */
export const findCertificateEvents = (
  em: EntityManager,
  { id, certRequestId }: Pick<Certificate, 'id' | 'certRequestId'>,
): Promise<AuditEvent[]> =>
  em.find(
    AuditEvent,
    { $or: [{ certificateId: id }, { objectId: certRequestId }] },
    { orderBy: { id: 'desc' }, limit: maxEvents },
  )
