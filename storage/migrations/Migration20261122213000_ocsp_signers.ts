// The delegated signers of OCSP answers.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122213000_ocsp_signers extends Migration {
  override name = 'Migration20261122213000_ocsp_signers'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "ocsp_signer" ("id" uuid not null, "ca_id" uuid not null, "private_key_id" uuid null, "serial_number" varchar(40) not null, "valid_not_before" timestamptz(3) not null, "valid_not_after" timestamptz(3) not null, "der" bytea not null, "created_date" timestamptz(3) not null, "retired_date" timestamptz(3) null, primary key ("id"));`,
    )
    this.addSql(`create index "ocsp_signer_ca_id_index" on "ocsp_signer" ("ca_id");`)
    this.addSql(`create index "ocsp_signer_private_key_id_index" on "ocsp_signer" ("private_key_id");`)
    this.addSql(`create unique index ocsp_signer_present on ocsp_signer (ca_id) where retired_date is null;`)
    this.addSql(
      `alter table "ocsp_signer" add constraint "ocsp_signer_ca_id_foreign" foreign key ("ca_id") references "ca" ("id") on delete cascade;`,
    )
    this.addSql(
      `alter table "ocsp_signer" add constraint "ocsp_signer_private_key_id_foreign" foreign key ("private_key_id") references "private_key" ("id") on delete set null;`,
    )
  }
}
