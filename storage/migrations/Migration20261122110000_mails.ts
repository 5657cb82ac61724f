// The outbox: what mails tell, and one row for each address.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122110000_mails extends Migration {
  override name = 'Migration20261122110000_mails'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "mail_group" ("id" uuid not null, "kind" text not null, "realm_id" uuid null, "facts" jsonb not null, "gathers" varchar(100) null, "created_date" timestamptz(3) not null, "tried_date" timestamptz(3) null, "closed_date" timestamptz(3) null, primary key ("id"));`,
    )
    this.addSql(
      `create unique index mail_group_gathering on mail_group (gathers, realm_id, kind) where gathers is not null;`,
    )
    this.addSql(`create index mail_group_open on mail_group (created_date) where closed_date is null;`)
    this.addSql(
      `create table "mail" ("id" uuid not null, "group_id" uuid not null, "address" varchar(254) not null, "status" text not null, "sealed_token" bytea null, "attempts" int not null default 0, "failure_reason" varchar(255) null, "ended_date" timestamptz(3) null, primary key ("id"));`,
    )
    this.addSql(`create index "mail_group_id_index" on "mail" ("group_id");`)
    this.addSql(
      `alter table "mail_group" add constraint "mail_group_kind_check" check ("kind" in ('VERIFICATION', 'CERTIFICATE', 'CERTIFICATES_CREATED', 'CERTIFICATES_IMPORTED', 'CERTIFICATES_REVOKED', 'CERTIFICATES_EXPIRING', 'REQUESTS_APPROVED', 'REQUESTS_DECLINED', 'TEST'));`,
    )
    this.addSql(
      `alter table "mail" add constraint "mail_group_id_foreign" foreign key ("group_id") references "mail_group" ("id") on delete cascade;`,
    )
    this.addSql(
      `alter table "mail" add constraint "mail_status_check" check ("status" in ('QUEUED', 'SENT', 'FAILED'));`,
    )
  }
}
