// Lists of partitions and delta lists. New columns are empty or have a constant default: no row of a large table is written.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261123030000_crl_partitions extends Migration {
  override name = 'Migration20261123030000_crl_partitions'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "crl" add "partition" int not null default 0, add "delta" boolean not null default false, add "freshest" boolean not null default false, add "urls" text[] not null default '{}';`,
    )
    // Serial numbers are random: compressing lists takes long and gains little, and slices of the rest are read at once.
    this.addSql(`alter table "crl" alter "der" set storage external;`)
    this.addSql(
      `alter table "crl" drop constraint "crl_pkey", add constraint "crl_pkey" primary key ("ca_id", "partition", "delta", "number");`,
    )

    this.addSql(
      `create table "crl_change" ("ca_id" uuid not null, "serial_number" varchar(40) not null, "partition" int not null, "number" bigint not null, "revocation_date" timestamptz(3) not null, "revocation_reason" text null, primary key ("ca_id", "serial_number"));`,
    )
    this.addSql(`create index "crl_change_number" on "crl_change" ("ca_id", "number");`)
    this.addSql(
      `alter table "crl_change" add constraint "crl_change_ca_id_foreign" foreign key ("ca_id") references "ca" ("id") on delete cascade;`,
    )
    this.addSql(
      `alter table "crl_change" add constraint "crl_change_revocation_reason_check" check ("revocation_reason" in ('UNSPECIFIED', 'KEY_COMPROMISE', 'CA_COMPROMISE', 'AFFILIATION_CHANGED', 'SUPERSEDED', 'CESSATION_OF_OPERATION', 'CERTIFICATE_HOLD', 'REMOVE_FROM_CRL', 'PRIVILEGE_WITHDRAWN', 'AA_COMPROMISE'));`,
    )

    this.addSql(`alter table "certificate" add "crl_partition" int null;`)
    this.addSql(`alter table "kept_revocation" add "crl_partition" int null;`)
    this.addSql(
      `create index certificate_crl_partition on certificate (issuer_ca_id, crl_partition, valid_not_after) include (serial_number, revocation_date, revocation_reason) where crl_partition is not null and revocation_date is not null and not imported;`,
    )
  }
}
