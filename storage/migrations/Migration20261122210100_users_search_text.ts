// The search text of users, as end entities and certificates have it: compared in lower case as it stands, where names and
// addresses of each row were put together and folded for each count.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122210100_users_search_text extends Migration {
  override name = 'Migration20261122210100_users_search_text'

  override up(): void | Promise<void> {
    this.addSql(`create function user_text(first_name text, last_name text, email text)
      returns text language sql immutable parallel safe
      return lower(coalesce(first_name, '') || ' ' || coalesce(last_name, '') || chr(10) || coalesce(email, ''));`)
    this.addSql(`drop index app_user_search;`)
    this.addSql(
      `alter table "app_user" add "search_text" text generated always as (user_text(first_name, last_name, email)) stored not null;`,
    )
    this.addSql(`create index app_user_search on app_user using gin (search_text gin_trgm_ops);`)
  }
}
