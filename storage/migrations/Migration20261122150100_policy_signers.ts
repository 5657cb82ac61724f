// The signers that the service makes for policies.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122150100_policy_signers extends Migration {
  override name = 'Migration20261122150100_policy_signers'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "policy_signer" ("id" uuid not null, "policy_id" uuid not null, "certificate_id" uuid not null, "private_key_id" uuid not null, "created_date" timestamptz(3) not null, "retired_date" timestamptz(3) null, primary key ("id"));`,
    )
    this.addSql(`create index "policy_signer_policy_id_index" on "policy_signer" ("policy_id");`)
    this.addSql(
      `alter table "policy_signer" add constraint "policy_signer_certificate_id_unique" unique ("certificate_id");`,
    )
    this.addSql(`create unique index policy_signer_present on policy_signer (policy_id) where retired_date is null;`)
    this.addSql(
      `alter table "policy_signer" add constraint "policy_signer_policy_id_foreign" foreign key ("policy_id") references "policy" ("id") on delete cascade;`,
    )
    this.addSql(
      `alter table "policy_signer" add constraint "policy_signer_certificate_id_foreign" foreign key ("certificate_id") references "certificate" ("id") on delete cascade;`,
    )
    this.addSql(
      `alter table "policy_signer" add constraint "policy_signer_private_key_id_foreign" foreign key ("private_key_id") references "private_key" ("id");`,
    )
  }
}
