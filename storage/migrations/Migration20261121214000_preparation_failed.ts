// A provider remembers that it could not be made ready.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261121214000_preparation_failed extends Migration {
  override name = 'Migration20261121214000_preparation_failed'

  override up(): void | Promise<void> {
    this.addSql(`alter table certificate_provider add column preparation_failed_date timestamptz(3) null;`)
  }
}
