// A registered user may have logged in before the registration was recorded: the record that the login made names it.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122190000_user_registrations extends Migration {
  override name = 'Migration20261122190000_user_registrations'

  override up(): void | Promise<void> {
    this.addSql(`alter table "app_user" add "registration_id" uuid null;`)
    this.addSql(`create index app_user_registration on app_user (registration_id) where registration_id is not null;`)
  }
}
