// Revocations that are asked for, and the lists that tell them.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122001000_revocation extends Migration {
  override name = 'Migration20261122001000_revocation'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "crl" ("ca_id" uuid not null, "number" bigint not null, "this_update" timestamptz(3) not null, "next_update" timestamptz(3) not null, "entries" int not null, "fingerprint" varchar(64) not null, "der" bytea not null, primary key ("ca_id", "number"));`,
    )

    this.addSql(
      `create table "revocation" ("id" varchar(100) not null, "created_by" uuid null, "created_by_type" text not null, "reason" text not null, "started_date" timestamptz(3) not null, "closed_date" timestamptz(3) null, primary key ("id"));`,
    )
    this.addSql(`create index revocation_open on revocation (started_date) where closed_date is null;`)

    this.addSql(
      `create table "revocation_item" ("revocation_id" varchar(100) not null, "certificate_id" uuid not null, "position" int not null, "status" text not null, "failure_code" varchar(64) null, "failure_message" text null, primary key ("revocation_id", "certificate_id"));`,
    )
    this.addSql(`create index "revocation_item_certificate" on "revocation_item" ("certificate_id");`)

    this.addSql(
      `alter table "certificate" add "revocation_run_id" varchar(100) null, add "revocation_requested_date" timestamptz(3) null, add "crl_pending" boolean not null default false, add "revocation_crl_number" bigint null;`,
    )
    this.addSql(
      `create index certificate_crl on certificate (issuer_ca_id, valid_not_after) include (serial_number, revocation_date, revocation_reason) where revocation_date is not null and not imported;`,
    )
    this.addSql(`create index certificate_crl_pending on certificate (issuer_ca_id) where crl_pending;`)
    this.addSql(
      `update certificate set crl_pending = true where revocation_date is not null and not imported and issuer_ca_id in (select id from ca where private_key_id is not null);`,
    )

    this.addSql(
      `alter table "crl" add constraint "crl_ca_id_foreign" foreign key ("ca_id") references "ca" ("id") on delete cascade;`,
    )

    this.addSql(
      `alter table "revocation" add constraint "revocation_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "revocation" add constraint "revocation_reason_check" check ("reason" in ('UNSPECIFIED', 'KEY_COMPROMISE', 'CA_COMPROMISE', 'AFFILIATION_CHANGED', 'SUPERSEDED', 'CESSATION_OF_OPERATION', 'CERTIFICATE_HOLD', 'REMOVE_FROM_CRL', 'PRIVILEGE_WITHDRAWN', 'AA_COMPROMISE'));`,
    )

    this.addSql(
      `alter table "revocation_item" add constraint "revocation_item_revocation_id_foreign" foreign key ("revocation_id") references "revocation" ("id") on update cascade on delete cascade;`,
    )
    this.addSql(
      `alter table "revocation_item" add constraint "revocation_item_certificate_id_foreign" foreign key ("certificate_id") references "certificate" ("id") on update cascade on delete cascade;`,
    )
    this.addSql(
      `alter table "revocation_item" add constraint "revocation_item_status_check" check ("status" in ('RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'));`,
    )
  }
}
