// What is recorded about certificates and in realms (contract 11.1).
import { findCertificateEvents, findLatestEvents } from '../../../storage/lists/audit-events.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { Realm } from '../../../storage/rows/realm.ts'
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

export const getLatestAuditEvents = operation('GET /certificates/realms/:id/latest-audit-events', {
  summary: 'List the latest 20 audit events of a realm, newest first',
  on: Realm,
  needs: 'OVERSEE_REALM',
  returns: [200, GetAuditEventResponseDtoList],
  fails: [422],
  handle: async ({ target, em }) => ({ auditEventList: await findLatestEvents(em, target.id) }),
})
