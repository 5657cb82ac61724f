// Groups of mails that the run of another group sends.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122130000_carried_mails extends Migration {
  override name = 'Migration20261122130000_carried_mails'

  override up(): void | Promise<void> {
    this.addSql(`alter table "mail_group" add column "carried_by" uuid null;`)
    this.addSql(`create index mail_group_carried on mail_group (carried_by) where carried_by is not null;`)
  }
}
