// What judges the passwords of end entities, and their one-time SCEP challenges. No version before made a password.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122150300_end_entity_passwords extends Migration {
  override name = 'Migration20261122150300_end_entity_passwords'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "scep_challenge" ("hash" varchar(64) not null, "end_entity_id" uuid not null, "policy_id" uuid not null, "expires_date" timestamptz(3) not null, "spent_date" timestamptz(3) null, "spent_on" varchar(128) null, "refused_date" timestamptz(3) null, primary key ("hash"));`,
    )
    this.addSql(`create index "scep_challenge_policy_id_index" on "scep_challenge" ("policy_id");`)
    this.addSql(`create index "scep_challenge_expires_date_index" on "scep_challenge" ("expires_date");`)
    this.addSql(`create index "scep_challenge_owner" on "scep_challenge" ("end_entity_id", "policy_id");`)

    this.addSql(`alter table "audit_event" drop constraint "audit_event_event_type_check";`)
    this.addSql(
      `alter table "audit_event" add constraint "audit_event_event_type_check" check ("event_type" in ('CERT_REQUEST_CREATED', 'CERT_REQUEST_EMAIL_VERIFIED', 'CERT_REQUEST_APPROVED', 'CERT_REQUEST_DECLINED', 'CERTIFICATE_ORDERED', 'ORDER_FAILED', 'ORDER_CANCELED', 'CERTIFICATE_ISSUED', 'CERTIFICATE_IMPORTED', 'CERTIFICATE_HELD', 'CERTIFICATE_RELEASED', 'CERTIFICATE_REVOKED', 'CERTIFICATE_MARKED_AS_REVOKED', 'CERTIFICATE_EXPIRED', 'CERTIFICATE_DOWNLOADED', 'PRIVATE_KEY_DOWNLOADED', 'PKCS12_DOWNLOADED', 'CERTIFICATE_EMAILED', 'EXPIRY_REMINDER_SENT', 'ENTITY_CREATED', 'ENTITY_UPDATED', 'ENTITY_ARCHIVED', 'ENTITY_UNARCHIVED', 'ENTITY_DELETED', 'PERMISSIONS_UPDATED', 'SECRET_RESET', 'PASSWORD_LOGIN_CHANGED', 'PASSWORD_CREATED', 'PASSWORD_RESET', 'PASSWORD_DELETED', 'PASSWORD_AUTHENTICATED', 'PASSWORD_REJECTED', 'PASSWORD_LOCKED', 'CHALLENGE_CREATED', 'CHALLENGE_SPENT', 'CHALLENGE_REJECTED', 'DATA_SIGNED', 'DATA_DECRYPTED', 'SIGNER_RENEWED', 'CONNECTION_FAILED', 'CRL_ISSUED'));`,
    )

    this.addSql(
      `alter table "end_entity_password" add "verifier" varchar(200) not null, add "failures" int not null default 0, add "failing_since" timestamptz(3) null, add "locked_until" timestamptz(3) null;`,
    )

    this.addSql(
      `alter table "scep_challenge" add constraint "scep_challenge_end_entity_id_foreign" foreign key ("end_entity_id") references "end_entity" ("id") on delete cascade;`,
    )
    this.addSql(
      `alter table "scep_challenge" add constraint "scep_challenge_policy_id_foreign" foreign key ("policy_id") references "policy" ("id") on delete cascade;`,
    )
  }
}
