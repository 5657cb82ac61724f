// API clients as a resource: the one of the start configuration is marked, resets of secrets are recorded once, lists have
// their indexes, and deleted ones are remembered.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261122131000_api_clients extends Migration {
  override name = 'Migration20261122131000_api_clients'

  override up(): void | Promise<void> {
    this.addSql(
      `alter table "api_client" add "system_client" boolean not null default false, add "secret_reset_id" uuid null;`,
    )
    // Until now only the audit log tells which client the first start made an administrator.
    this.addSql(`update api_client set system_client = true where id in (
      select object_id from audit_event where event_type = 'PERMISSIONS_UPDATED' and principal_type = 'SYSTEM'
        and event_description like 'ADMIN given to %');`)
    // Names are compared as those of other resources; of those that are equal now the oldest keeps its own.
    this.addSql(`alter table api_client drop constraint api_client_name_unique;`)
    this.addSql(`update api_client set name = left(name, 245) || ' ' || left(id::text, 8) where id in (
      select id from (select id, row_number() over (partition by comparable(name) order by created_date, id) as n
        from api_client) as equal where n > 1);`)
    this.addSql(`create unique index api_client_name on api_client (comparable(name));`)
    this.addSql(`create index api_client_newest on api_client (created_date desc, id);`)
    this.addSql(`create index api_client_search on api_client using gin (name gin_trgm_ops, provider_id gin_trgm_ops);`)
    this.addSql(`create index api_client_default_policy on api_client (default_policy_id);`)
    this.addSql(
      `create table "deleted_client" ("provider_id" varchar(255) not null, "deleted_date" timestamptz(3) not null, primary key ("provider_id"));`,
    )
  }
}
