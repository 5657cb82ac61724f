// Users as a resource: how they log in, what their RA certificates are to say, which one is theirs, and the indexes of
// their lists.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122180000_users extends Migration {
  override name = 'Migration20261122180000_users'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "app_user" add "password_login_enabled" boolean not null default true, add "certificate_details" jsonb null, add "ra_certificate_id" uuid null;`,
    )
    this.addSql(
      `alter table "app_user" add constraint "app_user_ra_certificate_id_foreign" foreign key ("ra_certificate_id") references "certificate" ("id") on delete set null;`,
    )
    this.addSql(
      `create index app_user_ra_certificate on app_user (ra_certificate_id) where ra_certificate_id is not null;`,
    )
    this.addSql(`create index app_user_email on app_user (comparable(email));`)
    this.addSql(`create index app_user_newest on app_user (created_date desc, id);`)
    this.addSql(
      `create index app_user_search on app_user using gin ((coalesce(first_name, '') || ' ' || coalesce(last_name, '')) gin_trgm_ops, email gin_trgm_ops);`,
    )
    this.addSql(`create index end_entity_user on end_entity (user_id) where user_id is not null;`)
  }
}
