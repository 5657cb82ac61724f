// Which certificates have the audit event of their expiry, and the index that finds those which lack it.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122000100_expiries extends Migration {
  override name = 'Migration20261122000100_expiries'

  override up(): void | Promise<void> {
    this.addSql(`alter table certificate add column expiry_recorded boolean not null default false;`)
    // An import that was past its end when it came never expired here.
    this.addSql(`update certificate set expiry_recorded = true where imported and valid_not_after < created_date;`)
    this.addSql(
      `create index certificate_expiring on certificate (valid_not_after) where not expiry_recorded and revocation_date is null;`,
    )
  }
}
