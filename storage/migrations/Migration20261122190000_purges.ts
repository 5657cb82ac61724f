// Purges of archived resources (contract 4.5): what is asked for, what is being deleted, what has to outlive its certificate
// for the revocation lists, and the indexes without which each deleted row would be looked for in whole tables.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122190000_purges extends Migration {
  override name = 'Migration20261122190000_purges'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "purge" ("id" varchar(100) not null, "kind" text not null, "created_by" uuid null, "created_by_type" text not null, "until" timestamptz(3) null, "after_id" uuid null, "total" int not null, "deleted" int not null default 0, "along" int not null default 0, "skipped" int not null default 0, "started_date" timestamptz(3) not null, "closed_date" timestamptz(3) null, primary key ("id"));`,
    )
    // While one of a kind runs there is no other.
    this.addSql(`create unique index purge_open on purge (kind) where closed_date is null;`)
    this.addSql(
      `alter table "purge" add constraint "purge_kind_check" check ("kind" in ('REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE', 'CERTIFICATE_PROVIDER', 'CA', 'MAILING_LIST'));`,
    )
    this.addSql(
      `alter table "purge" add constraint "purge_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )

    this.addSql(
      `create table "purge_item" ("resource_id" uuid not null, "purge_id" varchar(100) not null, primary key ("resource_id"));`,
    )
    this.addSql(`create index "purge_item_purge" on "purge_item" ("purge_id", "resource_id");`)
    this.addSql(
      `alter table "purge_item" add constraint "purge_item_purge_id_foreign" foreign key ("purge_id") references "purge" ("id") on delete cascade;`,
    )

    this.addSql(
      `create table "kept_revocation" ("issuer_ca_id" uuid not null, "serial_number" varchar(40) not null, "valid_not_after" timestamptz(3) not null, "revocation_date" timestamptz(3) not null, "revocation_reason" text null, "crl_pending" boolean not null default false, primary key ("issuer_ca_id", "serial_number"));`,
    )
    this.addSql(`create index "kept_revocation_end" on "kept_revocation" ("valid_not_after");`)
    this.addSql(`create index kept_revocation_pending on kept_revocation (issuer_ca_id) where crl_pending;`)
    this.addSql(
      `alter table "kept_revocation" add constraint "kept_revocation_issuer_ca_id_foreign" foreign key ("issuer_ca_id") references "ca" ("id") on delete cascade;`,
    )
    this.addSql(
      `alter table "kept_revocation" add constraint "kept_revocation_revocation_reason_check" check ("revocation_reason" in ('UNSPECIFIED', 'KEY_COMPROMISE', 'CA_COMPROMISE', 'AFFILIATION_CHANGED', 'SUPERSEDED', 'CESSATION_OF_OPERATION', 'CERTIFICATE_HOLD', 'REMOVE_FROM_CRL', 'PRIVILEGE_WITHDRAWN', 'AA_COMPROMISE'));`,
    )

    this.addSql(
      `create index certificate_private_key on certificate (private_key_id) where private_key_id is not null;`,
    )
    this.addSql(`create index "ca_private_key_id_index" on "ca" ("private_key_id");`)
    this.addSql(`create index "ca_issuer_ca_id_index" on "ca" ("issuer_ca_id");`)
    this.addSql(`create index "policy_realm_id_index" on "policy" ("realm_id");`)
    this.addSql(`create index "policy_signer_private_key_id_index" on "policy_signer" ("private_key_id");`)
  }
}
