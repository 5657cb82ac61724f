// What is recorded about certificates (contract 11.1).
import { findCertificateEvents } from '../../../storage/lists/audit-events.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { operation } from '../../kernel/operation.ts'
import { GetAuditEventResponseDtoList } from './dtos.ts'

export const getAuditEventsForCertificate = operation('GET /certificates/:id/audit-events', {
  summary: 'List the audit events of a certificate and its request, newest first',
  on: Certificate,
  needs: 'READ_CERTIFICATE',
  returns: [200, GetAuditEventResponseDtoList],
  fails: [422],
  handle: async ({ target, em }) => ({ auditEventList: await findCertificateEvents(em, target) }),
})
