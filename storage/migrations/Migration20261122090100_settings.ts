// Secrets among the settings, sealed; a word to every process when settings change; mailing lists, which realms link to.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122090100_settings extends Migration {
  override name = 'Migration20261122090100_settings'

  override up(): void | Promise<void> {
    this.addSql(`alter table "setting" add "sealed" bytea null;`)
    this.addSql(`create function setting_changed() returns trigger language plpgsql as
      $$ begin perform pg_notify('certwright_setting', ''); return null; end $$;`)
    this.addSql(`create trigger setting_changed after insert or update or delete or truncate on setting
      for each statement execute function setting_changed();`)
    this.addSql(
      `create table "mailing_list" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "archived" boolean not null default false, "archived_date" timestamptz(3) null, "archived_by" uuid null, "archived_by_type" text null, "archived_with" uuid null, "name" varchar(255) not null, "emails" text[] not null default '{}', primary key ("id"));`,
    )
    this.addSql(`create unique index mailing_list_name on mailing_list (comparable(name)) where not archived;`)
    this.addSql(
      `alter table "realm" add constraint "realm_mailing_list_id_foreign" foreign key ("mailing_list_id") references "mailing_list" ("id") on delete set null;`,
    )
    this.addSql(`create index "realm_mailing_list" on "realm" ("mailing_list_id");`)
    this.addSql(
      `alter table "mailing_list" add constraint "mailing_list_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "mailing_list" add constraint "mailing_list_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "mailing_list" add constraint "mailing_list_archived_by_type_check" check ("archived_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
  }
}
