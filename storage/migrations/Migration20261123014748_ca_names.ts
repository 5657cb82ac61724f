// CA records by their names, as certificates name their issuer: the oldest of a name first, trusted ones before others.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261123014748_ca_names extends Migration {
  override name = 'Migration20261123014748_ca_names'

  override up(): void | Promise<void> {
    this.addSql(
      `create index ca_name on ca (text_key(comparable(subject_dn)), trusted desc, created_date, id) where not archived;`,
    )
  }
}
