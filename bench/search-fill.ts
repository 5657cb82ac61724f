// A large installation in a database: 10 realms, 100 policies, 200,000 end entities, 1,000,000 requests, certificates and grants,
// 100,000 users.
// Bulk inserts in SQL; ids are hashes of names, so that cases can name rows without looking.
import { createHash } from 'node:crypto'
import type { Client } from 'pg'

/** How many rows there are. */
export const sizes = {
  realms: 10,
  policies: 100,
  endEntities: 200_000,
  certificates: 1_000_000,
  users: 100_000,
} as const

/** The id of a row of the installation: `idOf('realm', 3)`. */
export const idOf = (kind: string, number: number): string => {
  const hex = createHash('md5').update(`${kind}-${number}`).digest('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Who made everything, and is asked for nothing. */
const author = `created_by_type, created_date, last_modified_by_type, last_modified_date`
const by = (date: string): string => `'SYSTEM', ${date}, 'SYSTEM', ${date}`
const id = (kind: string, number: string): string => `md5('${kind}-' || (${number}))::uuid`

const months = 36
const created = `now() - (interval '1 month' * ${months}) * (1 - i::float8 / ${sizes.certificates})`
const subject = `'CN=host-' || e || '.dept-' || e % 50 || '.example.org,OU=Dept ' || e % 50 || ',O=Example,C=DE'`
const issuer = `case when i % 100 = 0 then 'Partner CA ' || i / 100 % 50 else 'Issuing CA ' || i % 3 end`

const statements: readonly (readonly [string, string])[] = [
  [
    'realms',
    `insert into realm (id, name, system_realm, ${author})
     select ${id('realm', 'i')}, 'Realm ' || i, false, ${by('now()')} from generate_series(0, ${sizes.realms - 1}) i`,
  ],
  [
    'provider',
    `insert into certificate_provider (id, name, certificate_provider_type, settings, ${author})
     values (${id('provider', '0')}, 'Bench', 'LOCAL', '{}', ${by('now()')})`,
  ],
  [
    'issuing CAs',
    `insert into ca (id, filename, subject_dn, subject_common_name, issuer_dn, serial_number, fingerprint,
       valid_not_before, valid_not_after, public_key_algorithm, root, trusted, der, ${author})
     select ${id('ca', 'i')}, 'ca.pem', 'CN=Issuing CA ' || i, 'Issuing CA ' || i, 'CN=Root', i, md5('ca' || i),
       now(), now() + interval '10 years', 'EC', false, true, '\\x00', ${by('now()')} from generate_series(0, 2) i`,
  ],
  [
    'policies',
    `insert into policy (id, realm_id, name, certificate_provider_id, certificate_provider_configuration,
       allowed_key_pair_modes, allowed_valid_for_values, crypto_restrictions, end_entity_strategy, end_entity_rules, ${author})
     select ${id('policy', 'i')}, ${id('realm', `i % ${sizes.realms}`)}, 'Policy ' || i, ${id('provider', '0')}, '{}',
       '{PKCS10}', '{ONE_YEAR}', '{"allowedCryptoAlgorithms":[]}', 'COMMON_NAME', '[]', ${by('now()')}
     from generate_series(0, ${sizes.policies - 1}) i`,
  ],
  [
    'end entities',
    `insert into end_entity (id, realm_id, alias, common_name, organization, organizational_unit, external_id, email,
       domains, ips, generic_dto_list, ${author})
     select ${id('ee', 'e')}, ${id('realm', `e % ${sizes.realms}`)}, 'host-' || e, 'host-' || e || '.dept-' || e % 50 || '.example.org',
       'Example', 'Dept ' || e % 50, 'EXT-' || e, 'admin-' || e || '@example.org',
       array['host-' || e || '.example.org'], array['10.' || e / 65536 || '.' || e / 256 % 256 || '.' || e % 256], '[]',
       ${by(`now() - interval '1 second' * (${sizes.endEntities} - e)`)}
     from generate_series(0, ${sizes.endEntities - 1}) e`,
  ],
  [
    'certificate requests',
    `insert into cert_request (id, realm_id, policy_id, end_entity_id, key_pair_mode, pkcs10, cert_request_status,
       requires_manual_approval, dual_control, requester_may_approve, user_responses, certificate_id, ${author})
     select ${id('request', 'i')}, ${id('realm', `e % ${sizes.realms}`)}, ${id('policy', `e % ${sizes.policies}`)}, ${id('ee', 'e')},
       'PKCS10', convert_to(repeat(md5(i::text), 8), 'UTF8'), 'ISSUED', false, false, true, '[]', ${id('certificate', 'i')},
       ${by(created)}
     from (select i, i % ${sizes.endEntities} as e from generate_series(0, ${sizes.certificates - 1}) i) as numbers`,
  ],
  [
    'certificates',
    `insert into certificate (id, realm_id, policy_id, end_entity_id, cert_request_id, issuer_ca_id, der, serial_number,
       fingerprint, subject_dn, subject_common_name, issuer_dn, issuer_common_name, valid_not_before, valid_not_after,
       cert_public_key_algorithm, cert_public_key_size, public_key_hash, signature_algorithm, subject_alternative_names,
       key_usages, extended_key_usages, crl_distribution_points, ocsp_urls, key_pair_mode, revocation_reason,
       revocation_date, imported, ${author})
     select ${id('certificate', 'i')}, ${id('realm', `e % ${sizes.realms}`)}, ${id('policy', `e % ${sizes.policies}`)}, ${id('ee', 'e')},
       ${id('request', 'i')}, case when i % 100 = 0 then null else ${id('ca', 'i % 3')} end,
       convert_to(repeat(md5(i::text), 25), 'UTF8'), md5('serial-' || i),
       encode(sha256(convert_to(i::text, 'UTF8')), 'hex'), ${subject}, 'host-' || e || '.dept-' || e % 50 || '.example.org',
       'CN=' || issuer, issuer, created, created + interval '1 month' * (array[6, 12, 24, 36])[1 + i % 4],
       case when i % 10 = 0 then 'RSA' else 'EC' end, null, md5('key-' || i) || md5('key-' || i), 'SHA256_WITH_ECDSA',
       jsonb_build_array(jsonb_build_object('type', 'DNS', 'value', 'host-' || e || '.example.org'),
         jsonb_build_object('type', 'IP', 'value', '10.' || e / 65536 || '.' || e / 256 % 256 || '.' || e % 256),
         jsonb_build_object('type', 'EMAIL', 'value', 'admin-' || e || '@example.org')),
       '{digitalSignature}', '{serverAuth}', '{}', '{}', (array['SERVER_GEN', 'PKCS10', 'PUBLIC_KEY'])[1 + i % 3],
       case when i % 13 = 0 then (array['SUPERSEDED', 'KEY_COMPROMISE', 'CESSATION_OF_OPERATION'])[1 + i % 3] end,
       case when i % 13 = 0 then created + interval '1 day' end, i % 100 = 0, ${by('created')}
     from (select i, e, ${issuer} as issuer, ${created} as created
       from (select i, i % ${sizes.endEntities} as e from generate_series(0, ${sizes.certificates - 1}) i) as numbers) as facts`,
  ],
  [
    'users',
    `insert into app_user (id, provider_id, first_name, last_name, email, enabled, ra_certificate_id, ${author})
     select ${id('user', 'i')}, 'subject-' || i, (array['Ada', 'Alan', 'Barbara', 'Edsger', 'Grace'])[1 + i % 5],
       'Family' || i * 7919 % 20011, 'person-' || i || '@dept-' || i % 50 || '.example.org', i % 20 > 0,
       case when i % 50 = 0 then ${id('certificate', 'i')} end, ${by(`now() - interval '1 second' * i`)}
     from generate_series(0, ${sizes.users - 1}) i`,
  ],
  [
    'grants',
    `insert into permission_grant (principal_id, scope, resource_id, permissions)
     select ${id('creator', 'i % 50')}, 'CERTIFICATE', ${id('certificate', 'i')}, '{READ,REVOKE}'
     from generate_series(0, ${sizes.certificates - 1}) i`,
  ],
]

const large = `'certificate', 'cert_request', 'end_entity'`

/** Fills tables (a list of SQL texts); their indexes are made after the rows, which is several times quicker. */
export const withoutIndexes = async (
  client: Client,
  tables: string,
  fillTables: () => Promise<void>,
): Promise<void> => {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index i
      where indrelid::regclass::text in (${tables})
        and not exists (select 1 from pg_constraint c where c.conindid = i.indexrelid)`,
  )
  for (const { name } of rows) await client.query(`drop index ${name}`)
  await fillTables()
  for (const { definition } of rows) await client.query(definition)
  await client.query('vacuum analyze')
}

const fillLarge = async (client: Client, tell: (text: string) => void): Promise<void> => {
  await client.query(`set session_replication_role = replica`)
  for (const [what, statement] of statements) {
    const begin = performance.now()
    await client.query(statement)
    tell(`${what}: ${((performance.now() - begin) / 1000).toFixed(1)} s`)
  }
}

/** Fills the empty, migrated database. */
export const fill = async (client: Client, tell: (text: string) => void): Promise<void> => {
  let begin = 0
  await withoutIndexes(client, large, async () => {
    await fillLarge(client, tell)
    begin = performance.now()
  })
  tell(`indexes, vacuum, analyze: ${((performance.now() - begin) / 1000).toFixed(1)} s`)
}

const oneRealm = new Set(['realms', 'provider', 'policies'])

/** Fills the empty, migrated database with so many end entities of one realm, each with three names. */
export const fillRealm = async (client: Client, endEntities: number): Promise<void> => {
  await client.query(`set session_replication_role = replica`)
  for (const [what, statement] of statements) if (oneRealm.has(what)) await client.query(statement)
  await client.query(
    `insert into end_entity (id, realm_id, common_name, organization, domains, generic_dto_list, ${author})
     select ${id('ee', 'e')}, ${id('realm', '0')}, (array['even-', 'odd-'])[1 + e % 2] || e, 'Example',
       array['a-' || e || '.example.org', 'b.sub-' || e || '.example.org', 'c.example.org'],
       jsonb_build_array(jsonb_build_object('key', 'key-' || e % 200, 'value', e::text)),
       ${by(`now() - interval '1 second' * (${endEntities} - e)`)}
     from generate_series(0, ${endEntities - 1}) e`,
  )
  await client.query('vacuum analyze')
}
