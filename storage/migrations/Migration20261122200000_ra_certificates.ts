// With which request of a user the RA certificate before it is to be revoked.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122200000_ra_certificates extends Migration {
  override name = 'Migration20261122200000_ra_certificates'

  override up(): void | Promise<void> {
    this.addSql(`alter table "app_user" add "superseding_request_id" uuid null;`)
  }
}
