// The index by the end of validity holds all that the statistics of a realm count, so that they read no row.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122000200_statistics extends Migration {
  override name = 'Migration20261122000200_statistics'

  override up(): void | Promise<void> {
    this.addSql(`drop index certificate_expiry;`)
    this.addSql(
      `create index certificate_expiry on certificate (realm_id, archived, valid_not_after) include (revocation_date, revocation_reason, policy_id, issuer_key, cert_public_key_algorithm, imported, valid_not_before, created_date);`,
    )
  }
}
