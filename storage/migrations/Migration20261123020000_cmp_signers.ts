// Signers of policies have a kind: those that were made before are of SCEP.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261123020000_cmp_signers extends Migration {
  override name = 'Migration20261123020000_cmp_signers'

  override up(): void | Promise<void> {
    this.addSql(`alter table "policy_signer" add column "kind" text not null default 'SCEP';`)
    this.addSql(
      `alter table "policy_signer" add constraint "policy_signer_kind_check" check ("kind" in ('SCEP', 'CMP'));`,
    )
    this.addSql(`drop index policy_signer_present;`)
    this.addSql(
      `create unique index policy_signer_present on policy_signer (policy_id, kind) where retired_date is null;`,
    )
  }
}
