// What the last step of an import of principals came to: an attempt whose report was lost is not counted as nothing.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122210000_import_steps extends Migration {
  override name = 'Migration20261122210000_import_steps'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "import_step" ("kind" varchar(20) not null, "step" varchar(200) not null, "outcome" jsonb not null, primary key ("kind"));`,
    )
  }
}
