// Which reminders of expiring certificates were sent.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122120000_expiry_notices extends Migration {
  override name = 'Migration20261122120000_expiry_notices'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "expiry_notice" ("certificate_id" uuid not null, "days" int not null, "noticed_date" timestamptz(3) not null, primary key ("certificate_id", "days"), constraint "expiry_notice_certificate_id_foreign" foreign key ("certificate_id") references "certificate" ("id") on delete cascade);`,
    )
  }
}
