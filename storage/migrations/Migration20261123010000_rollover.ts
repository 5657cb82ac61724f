// The next CA of a certificate provider, and when it took over.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261123010000_rollover extends Migration {
  override name = 'Migration20261123010000_rollover'

  override up(): void | Promise<void> {
    this.addSql(`alter table "certificate_provider" add "next_issuing_ca_id" uuid null, add "rollover" jsonb null;`)
    this.addSql(`alter table "audit_event" drop constraint "audit_event_event_type_check";`)
    this.addSql(
      `alter table "audit_event" add constraint "audit_event_event_type_check" check ("event_type" in ('CERT_REQUEST_CREATED', 'CERT_REQUEST_EMAIL_VERIFIED', 'CERT_REQUEST_APPROVED', 'CERT_REQUEST_DECLINED', 'CERTIFICATE_ORDERED', 'ORDER_FAILED', 'ORDER_CANCELED', 'CERTIFICATE_ISSUED', 'CERTIFICATE_IMPORTED', 'CERTIFICATE_HELD', 'CERTIFICATE_RELEASED', 'CERTIFICATE_REVOKED', 'CERTIFICATE_MARKED_AS_REVOKED', 'CERTIFICATE_EXPIRED', 'CERTIFICATE_DOWNLOADED', 'PRIVATE_KEY_DOWNLOADED', 'PKCS12_DOWNLOADED', 'CERTIFICATE_EMAILED', 'EXPIRY_REMINDER_SENT', 'ENTITY_CREATED', 'ENTITY_UPDATED', 'ENTITY_ARCHIVED', 'ENTITY_UNARCHIVED', 'ENTITY_DELETED', 'PERMISSIONS_UPDATED', 'SECRET_RESET', 'PASSWORD_LOGIN_CHANGED', 'PASSWORD_CREATED', 'PASSWORD_RESET', 'PASSWORD_DELETED', 'PASSWORD_AUTHENTICATED', 'PASSWORD_REJECTED', 'PASSWORD_LOCKED', 'CHALLENGE_CREATED', 'CHALLENGE_SPENT', 'CHALLENGE_REJECTED', 'DATA_SIGNED', 'DATA_DECRYPTED', 'SIGNER_RENEWED', 'CONNECTION_FAILED', 'CRL_ISSUED', 'ROLLOVER_PLANNED', 'ROLLOVER_DONE', 'ROLLOVER_CANCELED'));`,
    )
    this.addSql(`alter table "ca" add "succeeded_date" timestamptz(3) null;`)
  }
}
