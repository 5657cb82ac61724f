// Names and aliases are compared by their Unicode normal form as well, and names as aliases are: white space collapsed.
import { Migration } from '@mikro-orm/migrations'

const lookups = {
  alias: 'alias',
  common_name: 'common_name',
  email: 'email',
  external_id: 'external_id',
  domain: '(domains[1])',
  ip: '(ips[1])',
}

/** The tables whose names are unique, and the scope of that. */
const named = { realm: '', policy: 'realm_id, ', certificate_provider: '' }

export class Migration20261121214800_names_by_normal_form extends Migration {
  override name = 'Migration20261121214800_names_by_normal_form'

  override up(): void | Promise<void> {
    this.addSql('drop index end_entity_alias;')
    for (const name of Object.keys(lookups)) this.addSql(`drop index end_entity_by_${name};`)
    for (const table of Object.keys(named)) this.addSql(`drop index ${table}_name;`)
    this.addSql(`create or replace function comparable(value text) returns text language sql immutable strict parallel safe
      return normalize(lower(btrim(regexp_replace(value, '\\s+', ' ', 'g'))), nfc);`)
    // Of those that are equal now the oldest keeps its name; the others get the beginning of their id behind it.
    for (const [table, scope] of Object.entries(named)) {
      this.addSql(`update ${table} set name = left(name, 245) || ' ' || left(id::text, 8) where id in (
        select id from (select id, row_number() over (partition by ${scope}comparable(name) order by created_date, id) as n
          from ${table} where not archived) as equal where n > 1);`)
      this.addSql(`create unique index ${table}_name on ${table} (${scope}comparable(name)) where not archived;`)
    }
    this.addSql(`update end_entity set alias = null where id in (
      select id from (select id, row_number() over (partition by realm_id, comparable(alias) order by created_date, id) as n
        from end_entity where not archived and alias is not null) as equal where n > 1);`)
    this.addSql(`create unique index end_entity_alias on end_entity (realm_id, comparable(alias)) where not archived;`)
    for (const [name, column] of Object.entries(lookups))
      this.addSql(`create index end_entity_by_${name} on end_entity (realm_id, comparable(${column}));`)
  }
}
