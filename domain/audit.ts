// The kinds of audit events (contract 11.1).
import type { Enumeration } from './enums.ts'

/** The kinds of audit events, each beside the kind of object that it belongs to. */
export const AuditEventType = {
  CERT_REQUEST_CREATED: 'certificate request',
  CERT_REQUEST_EMAIL_VERIFIED: 'certificate request',
  CERT_REQUEST_APPROVED: 'certificate request',
  CERT_REQUEST_DECLINED: 'certificate request',
  CERTIFICATE_ORDERED: 'certificate request',
  ORDER_FAILED: 'certificate request',
  ORDER_CANCELED: 'certificate request',
  CERTIFICATE_ISSUED: 'certificate',
  CERTIFICATE_IMPORTED: 'certificate',
  CERTIFICATE_HELD: 'certificate',
  CERTIFICATE_RELEASED: 'certificate',
  CERTIFICATE_REVOKED: 'certificate',
  CERTIFICATE_MARKED_AS_REVOKED: 'certificate',
  CERTIFICATE_EXPIRED: 'certificate',
  CERTIFICATE_DOWNLOADED: 'certificate',
  PRIVATE_KEY_DOWNLOADED: 'certificate',
  PKCS12_DOWNLOADED: 'certificate',
  CERTIFICATE_EMAILED: 'certificate',
  EXPIRY_REMINDER_SENT: 'certificate',
  ENTITY_CREATED: 'any resource',
  ENTITY_UPDATED: 'any resource',
  ENTITY_ARCHIVED: 'any resource',
  ENTITY_UNARCHIVED: 'any resource',
  ENTITY_DELETED: 'any resource',
  PERMISSIONS_UPDATED: 'principal',
  SECRET_RESET: 'principal',
  PASSWORD_LOGIN_CHANGED: 'principal',
  PASSWORD_CREATED: 'end entity',
  PASSWORD_RESET: 'end entity',
  PASSWORD_DELETED: 'end entity',
  PASSWORD_AUTHENTICATED: 'end entity',
  PASSWORD_REJECTED: 'end entity',
  PASSWORD_LOCKED: 'end entity',
  DATA_SIGNED: 'policy',
  DATA_DECRYPTED: 'policy',
  SIGNER_RENEWED: 'policy',
  CONNECTION_FAILED: 'provider, CA',
  CRL_ISSUED: 'provider, CA',
} as const satisfies Enumeration

/** A kind of audit event. */
export type AuditEventType = keyof typeof AuditEventType
