// Columns and indexes for searching end entities and certificates.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261121043213_search extends Migration {
  override name = 'Migration20261121043213_search'

  override up(): void | Promise<void> {
    // Parts of texts are found by their trigrams; the extension is a trusted one, so the owner of the database may add it.
    this.addSql('create extension if not exists pg_trgm;')
    // Aliases and lookup keys compare without case and with white space collapsed (contract 5.3).
    this.addSql(`create function comparable(value text) returns text language sql immutable strict parallel safe
      return lower(btrim(regexp_replace(value, '\\s+', ' ', 'g')));`)
    // What a simple search looks for, in lower case, a line each: no search text holds a line end, so that none is found
    // across two fields.
    this.addSql(`create function end_entity_text(alias varchar, common_name varchar, external_id varchar, email varchar,
        organization varchar, organizational_unit varchar, domains text[], ips text[])
      returns text language sql immutable parallel safe
      return lower(array_to_string(array[alias, common_name, external_id, email, organization, organizational_unit]::text[]
        || domains || ips, chr(10)));`)
    this.addSql(`create function certificate_text(subject_dn text, subject_common_name text, subject_alternative_names jsonb)
      returns text language sql immutable parallel safe
      return lower(array_to_string(array[subject_dn, subject_common_name]
        || array(select san->>'value' from jsonb_array_elements(subject_alternative_names) san), chr(10)));`)
    // Stands for a text of any length in an index that is read in order.
    this.addSql(`create function text_key(value text) returns bigint language sql immutable strict parallel safe
      return hashtextextended(value, 0);`)
    this.addSql(
      `create table "end_entity_password" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "end_entity_id" uuid not null, "policy_id" uuid not null, "sealed" bytea not null, "last_used_date" timestamptz(3) null, primary key ("id"));`,
    )
    this.addSql(`create index "end_entity_password_policy_id_index" on "end_entity_password" ("policy_id");`)
    this.addSql(
      `alter table "end_entity_password" add constraint "end_entity_password_policy" unique ("end_entity_id", "policy_id");`,
    )

    this.addSql(`drop index "end_entity_alias";`)
    this.addSql(`create unique index end_entity_alias on end_entity (realm_id, comparable(alias)) where not archived;`)
    this.addSql(`drop index "end_entity_realm_id_index";`)
    this.addSql(
      `alter table "end_entity" add "search_text" text generated always as (end_entity_text(alias, common_name, external_id, email, organization, organizational_unit, domains, ips)) stored not null;`,
    )
    this.addSql(`create index end_entity_realm on end_entity (realm_id, archived, created_date desc, id);`)
    this.addSql(
      `create index end_entity_search on end_entity using gin (search_text gin_trgm_ops, lower(alias) gin_trgm_ops);`,
    )
    this.addSql(`create index end_entity_by_alias on end_entity (realm_id, comparable(alias));`)
    this.addSql(`create index end_entity_by_common_name on end_entity (realm_id, comparable(common_name));`)
    this.addSql(`create index end_entity_by_email on end_entity (realm_id, comparable(email));`)
    this.addSql(`create index end_entity_by_external_id on end_entity (realm_id, comparable(external_id));`)
    this.addSql(`create index end_entity_by_domain on end_entity (realm_id, comparable((domains[1])));`)
    this.addSql(`create index end_entity_by_ip on end_entity (realm_id, comparable((ips[1])));`)

    this.addSql(`drop index "cert_request_policy_id_index";`)
    this.addSql(`drop index "cert_request_realm_id_index";`)
    this.addSql(`create index cert_request_realm on cert_request (realm_id, archived, created_date desc, id);`)
    this.addSql(`create index cert_request_policy on cert_request (policy_id, archived, created_date desc, id);`)

    this.addSql(`drop index "certificate_issuer_ca_id_index";`)
    this.addSql(`drop index "certificate_policy_id_index";`)
    this.addSql(`drop index "certificate_realm_id_index";`)
    this.addSql(`drop index "certificate_expiry";`)
    this.addSql(
      `alter table "certificate" add "search_text" text generated always as (certificate_text(subject_dn, subject_common_name, subject_alternative_names)) stored not null, add "issuer_key" bigint generated always as (text_key(issuer_dn)) stored not null;`,
    )
    this.addSql(`drop index "certificate_newest";`)
    this.addSql(
      `create index certificate_newest on certificate (archived, created_date desc, id, valid_not_after, revocation_date);`,
    )
    this.addSql(`create index certificate_realm on certificate (realm_id, archived, created_date desc, id);`)
    this.addSql(`create index certificate_policy on certificate (policy_id, archived, created_date desc, id);`)
    this.addSql(
      `create index certificate_search on certificate using gin (search_text gin_trgm_ops, (serial_number || ' ' || fingerprint) gin_trgm_ops);`,
    )
    this.addSql(`create index "certificate_issuer_ca" on "certificate" ("issuer_ca_id", "archived");`)
    this.addSql(`create index "certificate_issuer" on "certificate" ("issuer_key", "archived");`)
    this.addSql(`create index "certificate_start" on "certificate" ("archived", "valid_not_before");`)
    this.addSql(`create index "certificate_end" on "certificate" ("archived", "valid_not_after", "revocation_date");`)
    this.addSql(
      `create index "certificate_key" on "certificate" ("archived", "cert_public_key_algorithm", "key_pair_mode");`,
    )
    this.addSql(
      `create index certificate_revoked on certificate (archived, revocation_reason, created_date desc, id) where revocation_date is not null;`,
    )
    this.addSql(`create index "certificate_expiry" on "certificate" ("realm_id", "archived", "valid_not_after");`)

    this.addSql(
      `alter table "end_entity_password" add constraint "end_entity_password_end_entity_id_foreign" foreign key ("end_entity_id") references "end_entity" ("id");`,
    )
    this.addSql(
      `alter table "end_entity_password" add constraint "end_entity_password_policy_id_foreign" foreign key ("policy_id") references "policy" ("id");`,
    )
    this.addSql(
      `alter table "end_entity_password" add constraint "end_entity_password_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "end_entity_password" add constraint "end_entity_password_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
  }
}
