// The kinds of audit events (contract 11.1), each beside the kind of object that it belongs to.
import type { Enumeration } from './enums.ts'

export const AuditEventType = {
  CERT_REQUEST_CREATED: 'certificate request',
  CERT_REQUEST_EMAIL_VERIFIED: 'certificate request',
  CERT_REQUEST_APPROVED: 'certificate request',
  CERT_REQUEST_DECLINED: 'certificate request',
  CERTIFICATE_ORDERED: 'certificate request',
  ORDER_FAILED: 'certificate request',
  ORDER_CANCELED: 'certificate request',
  CERTIFICATE_ISSUED: 'certificate',
  CERTIFICATE_DOWNLOADED: 'certificate',
  PRIVATE_KEY_DOWNLOADED: 'certificate',
  PKCS12_DOWNLOADED: 'certificate',
  ENTITY_CREATED: 'any resource',
  ENTITY_UPDATED: 'any resource',
  PERMISSIONS_UPDATED: 'principal',
  CONNECTION_FAILED: 'provider',
} as const satisfies Enumeration
export type AuditEventType = keyof typeof AuditEventType
