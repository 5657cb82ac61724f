// The first schema: all tables, their keys and indexes.
import { Migration } from '@mikro-orm/migrations'

export class Migration20261121015006_foundation extends Migration {
  override name = 'Migration20261121015006_foundation'

  override up(): void | Promise<void> {
    this.addSql(
      `create table "audit_event" ("id" bigserial primary key, "object_id" uuid not null, "realm_id" uuid null, "certificate_id" uuid null, "event_type" text not null, "event_description" text not null, "principal_id" uuid null, "principal_type" text not null, "occurred_date" timestamptz(3) not null);`,
    )
    this.addSql(`create index "audit_event_object_id_index" on "audit_event" ("object_id");`)
    this.addSql(`create index audit_event_realm on audit_event (realm_id, id desc);`)
    this.addSql(
      `alter table "audit_event" add constraint "audit_event_event_type_check" check ("event_type" in ('CERT_REQUEST_CREATED', 'CERT_REQUEST_EMAIL_VERIFIED', 'CERT_REQUEST_APPROVED', 'CERT_REQUEST_DECLINED', 'CERTIFICATE_ORDERED', 'ORDER_FAILED', 'ORDER_CANCELED', 'CERTIFICATE_ISSUED', 'CERTIFICATE_IMPORTED', 'CERTIFICATE_HELD', 'CERTIFICATE_RELEASED', 'CERTIFICATE_REVOKED', 'CERTIFICATE_MARKED_AS_REVOKED', 'CERTIFICATE_EXPIRED', 'CERTIFICATE_DOWNLOADED', 'PRIVATE_KEY_DOWNLOADED', 'PKCS12_DOWNLOADED', 'CERTIFICATE_EMAILED', 'EXPIRY_REMINDER_SENT', 'ENTITY_CREATED', 'ENTITY_UPDATED', 'ENTITY_ARCHIVED', 'ENTITY_UNARCHIVED', 'ENTITY_DELETED', 'PERMISSIONS_UPDATED', 'SECRET_RESET', 'PASSWORD_LOGIN_CHANGED', 'PASSWORD_CREATED', 'PASSWORD_RESET', 'PASSWORD_DELETED', 'PASSWORD_AUTHENTICATED', 'PASSWORD_REJECTED', 'PASSWORD_LOCKED', 'DATA_SIGNED', 'DATA_DECRYPTED', 'SIGNER_RENEWED', 'CONNECTION_FAILED', 'CRL_ISSUED'));`,
    )
    this.addSql(
      `alter table "audit_event" add constraint "audit_event_principal_type_check" check ("principal_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )

    this.addSql(
      `create table "certificate_order" ("id" varchar(100) not null, "created_by" uuid not null, "multiple" boolean not null, "omit_artifacts" boolean not null, "status" text not null, "started_date" timestamptz(3) not null, "closed_date" timestamptz(3) null, primary key ("id"));`,
    )
    this.addSql(`create index certificate_order_running on certificate_order (started_date) where status = 'RUNNING';`)
    this.addSql(
      `alter table "certificate_order" add constraint "certificate_order_status_check" check ("status" in ('RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'));`,
    )

    this.addSql(
      `create table "certificate_provider" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "archived" boolean not null default false, "archived_date" timestamptz(3) null, "archived_by" uuid null, "archived_by_type" text null, "archived_with" uuid null, "name" varchar(255) not null, "certificate_provider_type" text not null, "settings" jsonb not null, "secret_names" text[] not null default '{}', "sealed_secrets" bytea null, "connection_status" text not null default 'UNKNOWN', "last_checked_date" timestamptz(3) null, "issuing_ca_id" uuid null, "system_provider" boolean not null default false, primary key ("id"));`,
    )
    this.addSql(
      `create unique index certificate_provider_name on certificate_provider (lower(name)) where not archived;`,
    )
    this.addSql(
      `alter table "certificate_provider" add constraint "certificate_provider_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "certificate_provider" add constraint "certificate_provider_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "certificate_provider" add constraint "certificate_provider_archived_by_type_check" check ("archived_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "certificate_provider" add constraint "certificate_provider_certificate_provider_type_check" check ("certificate_provider_type" in ('LOCAL'));`,
    )
    this.addSql(
      `alter table "certificate_provider" add constraint "certificate_provider_connection_status_check" check ("connection_status" in ('OK', 'FAILED', 'UNKNOWN'));`,
    )

    this.addSql(
      `create table "permission_grant" ("principal_id" uuid not null, "scope" varchar(20) not null, "resource_id" uuid not null, "permissions" text[] not null, primary key ("principal_id", "scope", "resource_id"));`,
    )
    this.addSql(`create index "permission_grant_resource_id_index" on "permission_grant" ("resource_id");`)

    this.addSql(
      `create table "private_key" ("id" uuid not null, "sealed" bytea not null, "created_date" timestamptz(3) not null, primary key ("id"));`,
    )

    this.addSql(
      `create table "ca" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "archived" boolean not null default false, "archived_date" timestamptz(3) null, "archived_by" uuid null, "archived_by_type" text null, "archived_with" uuid null, "name" varchar(255) null, "filename" varchar(255) not null, "subject_dn" text not null, "subject_common_name" text null, "issuer_dn" text not null, "issuer_common_name" text null, "serial_number" varchar(40) not null, "fingerprint" varchar(64) not null, "valid_not_before" timestamptz(3) not null, "valid_not_after" timestamptz(3) not null, "public_key_algorithm" text not null, "issuer_ca_id" uuid null, "root" boolean not null, "trusted" boolean not null, "certificate_provider_id" uuid null, "private_key_id" uuid null, "der" bytea not null, primary key ("id"));`,
    )
    this.addSql(`alter table "ca" add constraint "ca_fingerprint_unique" unique ("fingerprint");`)
    this.addSql(`create index "ca_certificate_provider_id_index" on "ca" ("certificate_provider_id");`)
    this.addSql(
      `alter table "ca" add constraint "ca_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "ca" add constraint "ca_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "ca" add constraint "ca_archived_by_type_check" check ("archived_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "ca" add constraint "ca_public_key_algorithm_check" check ("public_key_algorithm" in ('RSA', 'EC', 'EDDSA'));`,
    )

    this.addSql(
      `create table "realm" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "archived" boolean not null default false, "archived_date" timestamptz(3) null, "archived_by" uuid null, "archived_by_type" text null, "archived_with" uuid null, "name" varchar(255) not null, "mailing_list_id" uuid null, "system_realm" boolean not null default false, primary key ("id"));`,
    )
    this.addSql(`create unique index realm_name on realm (lower(name)) where not archived;`)
    this.addSql(
      `alter table "realm" add constraint "realm_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "realm" add constraint "realm_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "realm" add constraint "realm_archived_by_type_check" check ("archived_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )

    this.addSql(
      `create table "policy" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "archived" boolean not null default false, "archived_date" timestamptz(3) null, "archived_by" uuid null, "archived_by_type" text null, "archived_with" uuid null, "realm_id" uuid not null, "certificate_provider_id" uuid not null, "name" varchar(255) not null, "description" varchar(1000) null, "certificate_provider_configuration" text not null, "requires_manual_approval" boolean not null default false, "dual_control" boolean not null default false, "requester_may_approve" boolean not null default true, "requires_email_verification" boolean not null default false, "allowed_key_pair_modes" text[] not null, "allowed_valid_for_values" text[] not null, "crypto_restrictions" jsonb not null, "end_entity_strategy" text not null, "end_entity_rules" jsonb not null, "certificate_import_allowed" boolean not null default false, "self_signed_allowed" boolean not null default false, "wildcard_allowed" boolean not null default false, "enforce_active_cert_uniqueness" boolean not null default false, "renewal_window_days" int null, "cmp_configuration" jsonb null, "scep_configuration" jsonb null, "system_policy" boolean not null default false, primary key ("id"));`,
    )
    this.addSql(`create index "policy_certificate_provider_id_index" on "policy" ("certificate_provider_id");`)
    this.addSql(`create unique index policy_name on policy (realm_id, lower(name)) where not archived;`)
    this.addSql(
      `alter table "policy" add constraint "policy_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "policy" add constraint "policy_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "policy" add constraint "policy_archived_by_type_check" check ("archived_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "policy" add constraint "policy_end_entity_strategy_check" check ("end_entity_strategy" in ('COMMON_NAME', 'SUBJECT_DN', 'EMAIL', 'DOMAIN', 'IP', 'EXTERNAL_ID', 'UUID'));`,
    )

    this.addSql(
      `create table "api_client" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "provider_id" varchar(255) not null, "name" varchar(255) not null, "realm_ids" text[] not null default '{}', "default_policy_id" uuid null, "enabled" boolean not null default true, primary key ("id"));`,
    )
    this.addSql(`alter table "api_client" add constraint "api_client_provider_id_unique" unique ("provider_id");`)
    this.addSql(`alter table "api_client" add constraint "api_client_name_unique" unique ("name");`)
    this.addSql(
      `alter table "api_client" add constraint "api_client_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "api_client" add constraint "api_client_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )

    this.addSql(
      `create table "end_entity" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "archived" boolean not null default false, "archived_date" timestamptz(3) null, "archived_by" uuid null, "archived_by_type" text null, "archived_with" uuid null, "realm_id" uuid not null, "alias" varchar(1024) null, "common_name" varchar(64) null, "organization" varchar(64) null, "organizational_unit" varchar(64) null, "country" varchar(2) null, "external_id" varchar(255) null, "email" varchar(254) null, "domains" text[] not null default '{}', "ips" text[] not null default '{}', "generic_dto_list" jsonb not null, "user_id" uuid null, primary key ("id"));`,
    )
    this.addSql(`create index "end_entity_realm_id_index" on "end_entity" ("realm_id");`)
    this.addSql(`create unique index end_entity_external_id on end_entity (realm_id, external_id) where not archived;`)
    this.addSql(`create unique index end_entity_alias on end_entity (realm_id, lower(alias)) where not archived;`)
    this.addSql(
      `alter table "end_entity" add constraint "end_entity_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "end_entity" add constraint "end_entity_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "end_entity" add constraint "end_entity_archived_by_type_check" check ("archived_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )

    this.addSql(
      `create table "cert_request" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "archived" boolean not null default false, "archived_date" timestamptz(3) null, "archived_by" uuid null, "archived_by_type" text null, "archived_with" uuid null, "realm_id" uuid not null, "policy_id" uuid not null, "end_entity_id" uuid not null, "valid_for" text null, "key_pair_mode" text not null, "key_gen_params_dto" jsonb null, "pkcs10" bytea null, "public_key" bytea null, "cert_request_status" text not null, "requires_manual_approval" boolean not null, "dual_control" boolean not null, "requester_may_approve" boolean not null, "user_responses" jsonb not null, "email_verified_date" timestamptz(3) null, "certificate_id" uuid null, "run_id" varchar(100) null, "run_since" timestamptz(3) null, "undelivered" boolean not null default false, primary key ("id"));`,
    )
    this.addSql(`create index "cert_request_realm_id_index" on "cert_request" ("realm_id");`)
    this.addSql(`create index "cert_request_policy_id_index" on "cert_request" ("policy_id");`)
    this.addSql(`create index "cert_request_end_entity_id_index" on "cert_request" ("end_entity_id");`)
    this.addSql(`create index "cert_request_run_id_index" on "cert_request" ("run_id");`)
    this.addSql(
      `create index cert_request_open on cert_request (realm_id, created_date desc) where cert_request_status in ('PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION');`,
    )
    this.addSql(
      `alter table "cert_request" add constraint "cert_request_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "cert_request" add constraint "cert_request_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "cert_request" add constraint "cert_request_archived_by_type_check" check ("archived_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "cert_request" add constraint "cert_request_valid_for_check" check ("valid_for" in ('ONE_DAY', 'ONE_WEEK', 'ONE_MONTH', 'THREE_MONTHS', 'SIX_MONTHS', 'ONE_YEAR', 'TWO_YEARS', 'THREE_YEARS', 'FIVE_YEARS', 'TEN_YEARS'));`,
    )
    this.addSql(
      `alter table "cert_request" add constraint "cert_request_key_pair_mode_check" check ("key_pair_mode" in ('SERVER_GEN', 'PKCS10', 'PUBLIC_KEY'));`,
    )
    this.addSql(
      `alter table "cert_request" add constraint "cert_request_cert_request_status_check" check ("cert_request_status" in ('REQUIRES_EMAIL_VERIFICATION', 'PENDING_APPROVAL', 'APPROVED', 'DECLINED', 'ISSUED'));`,
    )

    this.addSql(
      `create table "order_item" ("order_id" varchar(100) not null, "cert_request_id" uuid not null, "position" int not null, "status" text not null, "failure_code" varchar(64) null, "failure_message" text null, primary key ("order_id", "cert_request_id"));`,
    )
    this.addSql(`create index "order_item_request" on "order_item" ("cert_request_id");`)
    this.addSql(
      `alter table "order_item" add constraint "order_item_status_check" check ("status" in ('RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'));`,
    )

    this.addSql(
      `create table "certificate" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "archived" boolean not null default false, "archived_date" timestamptz(3) null, "archived_by" uuid null, "archived_by_type" text null, "archived_with" uuid null, "realm_id" uuid not null, "policy_id" uuid not null, "end_entity_id" uuid not null, "cert_request_id" uuid not null, "issuer_ca_id" uuid null, "private_key_id" uuid null, "der" bytea not null, "serial_number" varchar(40) not null, "fingerprint" varchar(64) not null, "subject_dn" text not null, "subject_common_name" text null, "issuer_dn" text not null, "issuer_common_name" text null, "valid_not_before" timestamptz(3) not null, "valid_not_after" timestamptz(3) not null, "cert_public_key_algorithm" text not null, "cert_public_key_size" int null, "public_key_hash" varchar(64) not null, "named_curve" varchar(32) null, "signature_algorithm" varchar(64) not null, "subject_alternative_names" jsonb not null, "key_usages" text[] not null, "extended_key_usages" text[] not null, "crl_distribution_points" text[] not null, "ocsp_urls" text[] not null, "key_pair_mode" text not null, "revocation_reason" text null, "revocation_date" timestamptz(3) null, "imported" boolean not null default false, "self_signed" boolean not null default false, primary key ("id"));`,
    )
    this.addSql(`create index "certificate_realm_id_index" on "certificate" ("realm_id");`)
    this.addSql(`create index "certificate_policy_id_index" on "certificate" ("policy_id");`)
    this.addSql(`create index "certificate_end_entity_id_index" on "certificate" ("end_entity_id");`)
    this.addSql(
      `alter table "certificate" add constraint "certificate_cert_request_id_unique" unique ("cert_request_id");`,
    )
    this.addSql(`create index "certificate_issuer_ca_id_index" on "certificate" ("issuer_ca_id");`)
    this.addSql(`create index "certificate_public_key_hash_index" on "certificate" ("public_key_hash");`)
    this.addSql(`create index "certificate_serial_number" on "certificate" ("serial_number");`)
    this.addSql(`create index "certificate_expiry" on "certificate" ("realm_id", "valid_not_after");`)
    this.addSql(`create index certificate_newest on certificate (created_date desc, id);`)
    this.addSql(`alter table "certificate" add constraint "certificate_fingerprint" unique ("fingerprint");`)
    this.addSql(
      `alter table "certificate" add constraint "certificate_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_archived_by_type_check" check ("archived_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_cert_public_key_algorithm_check" check ("cert_public_key_algorithm" in ('RSA', 'EC', 'EDDSA'));`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_key_pair_mode_check" check ("key_pair_mode" in ('SERVER_GEN', 'PKCS10', 'PUBLIC_KEY'));`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_revocation_reason_check" check ("revocation_reason" in ('UNSPECIFIED', 'KEY_COMPROMISE', 'CA_COMPROMISE', 'AFFILIATION_CHANGED', 'SUPERSEDED', 'CESSATION_OF_OPERATION', 'CERTIFICATE_HOLD', 'REMOVE_FROM_CRL', 'PRIVILEGE_WITHDRAWN', 'AA_COMPROMISE'));`,
    )

    this.addSql(
      `create table "setting" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "settings_key" varchar(255) not null, "value" text null, "description" varchar(1000) null, primary key ("id"));`,
    )
    this.addSql(`alter table "setting" add constraint "setting_settings_key_unique" unique ("settings_key");`)
    this.addSql(
      `alter table "setting" add constraint "setting_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "setting" add constraint "setting_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )

    this.addSql(
      `create table "app_user" ("id" uuid not null, "version" int not null default 1, "created_by" uuid null, "created_by_type" text not null, "created_date" timestamptz(3) not null, "last_modified_by" uuid null, "last_modified_by_type" text not null, "last_modified_date" timestamptz(3) not null, "provider_id" varchar(255) not null, "first_name" varchar(255) null, "last_name" varchar(255) null, "email" varchar(254) null, "enabled" boolean not null default true, primary key ("id"));`,
    )
    this.addSql(`alter table "app_user" add constraint "app_user_provider_id_unique" unique ("provider_id");`)
    this.addSql(
      `alter table "app_user" add constraint "app_user_created_by_type_check" check ("created_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )
    this.addSql(
      `alter table "app_user" add constraint "app_user_last_modified_by_type_check" check ("last_modified_by_type" in ('USER', 'API_CLIENT', 'SYSTEM'));`,
    )

    this.addSql(
      `alter table "ca" add constraint "ca_certificate_provider_id_foreign" foreign key ("certificate_provider_id") references "certificate_provider" ("id") on delete set null;`,
    )
    this.addSql(
      `alter table "ca" add constraint "ca_private_key_id_foreign" foreign key ("private_key_id") references "private_key" ("id") on delete set null;`,
    )

    this.addSql(
      `alter table "policy" add constraint "policy_realm_id_foreign" foreign key ("realm_id") references "realm" ("id");`,
    )
    this.addSql(
      `alter table "policy" add constraint "policy_certificate_provider_id_foreign" foreign key ("certificate_provider_id") references "certificate_provider" ("id");`,
    )

    this.addSql(
      `alter table "api_client" add constraint "api_client_default_policy_id_foreign" foreign key ("default_policy_id") references "policy" ("id") on delete set null;`,
    )

    this.addSql(
      `alter table "end_entity" add constraint "end_entity_realm_id_foreign" foreign key ("realm_id") references "realm" ("id");`,
    )

    this.addSql(
      `alter table "cert_request" add constraint "cert_request_realm_id_foreign" foreign key ("realm_id") references "realm" ("id");`,
    )
    this.addSql(
      `alter table "cert_request" add constraint "cert_request_policy_id_foreign" foreign key ("policy_id") references "policy" ("id");`,
    )
    this.addSql(
      `alter table "cert_request" add constraint "cert_request_end_entity_id_foreign" foreign key ("end_entity_id") references "end_entity" ("id");`,
    )

    this.addSql(
      `alter table "order_item" add constraint "order_item_order_id_foreign" foreign key ("order_id") references "certificate_order" ("id") on update cascade on delete cascade;`,
    )
    this.addSql(
      `alter table "order_item" add constraint "order_item_cert_request_id_foreign" foreign key ("cert_request_id") references "cert_request" ("id") on update cascade on delete cascade;`,
    )

    this.addSql(
      `alter table "certificate" add constraint "certificate_realm_id_foreign" foreign key ("realm_id") references "realm" ("id");`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_policy_id_foreign" foreign key ("policy_id") references "policy" ("id");`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_end_entity_id_foreign" foreign key ("end_entity_id") references "end_entity" ("id");`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_cert_request_id_foreign" foreign key ("cert_request_id") references "cert_request" ("id");`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_issuer_ca_id_foreign" foreign key ("issuer_ca_id") references "ca" ("id") on delete set null;`,
    )
    this.addSql(
      `alter table "certificate" add constraint "certificate_private_key_id_foreign" foreign key ("private_key_id") references "private_key" ("id") on delete set null;`,
    )
  }
}
