// What can be archived and deleted: where each kind is kept, what hangs on it, what it hangs on, and what forbids it
// (contract 4.4, 4.5). Texts of statements are made of these names alone.
import type { EntitiesEnum } from '../domain/enums.ts'
import type { ApiError } from '../domain/failure.ts'

/** The table of each kind. */
export const tables: Readonly<Record<EntitiesEnum, string>> = {
  REALM: 'realm',
  POLICY: 'policy',
  END_ENTITY: 'end_entity',
  CERT_REQUEST: 'cert_request',
  CERTIFICATE: 'certificate',
  CERTIFICATE_PROVIDER: 'certificate_provider',
  CA: 'ca',
  MAILING_LIST: 'mailing_list',
}

/** Rows of a kind that lead to another by a column of theirs. */
export interface Link {
  readonly kind: EntitiesEnum
  readonly column: string
  /** Finds those of the resources `$1` by an index, where the column has none: each index costs every request that is issued. */
  readonly found?: string
}

/** Which rows `t` hang on the resources with the ids `$1`. */
export const hanging = ({ column, found = 'true' }: Link): string => `t.${column} = any($1::uuid[]) and ${found}`

/** Those of them that were taken along: `archived_with` has no index, so that they are found by what they hang on. */
export const takenAlong = (link: Link): string => `${hanging(link)} and t.archived_with = any($1::uuid[])`

const under = (column: string): readonly Link[] => [
  { kind: 'CERT_REQUEST', column },
  { kind: 'CERTIFICATE', column },
]

/** What goes along with a kind, in the order in which all transactions write: requests before certificates. */
export const below: Readonly<Record<EntitiesEnum, readonly Link[]>> = {
  REALM: [{ kind: 'POLICY', column: 'realm_id' }, { kind: 'END_ENTITY', column: 'realm_id' }, ...under('realm_id')],
  POLICY: under('policy_id'),
  END_ENTITY: under('end_entity_id'),
  CERT_REQUEST: [{ kind: 'CERTIFICATE', column: 'cert_request_id' }],
  CERTIFICATE: [
    {
      kind: 'CERT_REQUEST',
      column: 'certificate_id',
      found: 't.id in (select c.cert_request_id from certificate c where c.id = any($1::uuid[]))',
    },
  ],
  CERTIFICATE_PROVIDER: [],
  CA: [],
  MAILING_LIST: [],
}

const parents: readonly Link[] = [
  { kind: 'REALM', column: 'realm_id' },
  { kind: 'POLICY', column: 'policy_id' },
  { kind: 'END_ENTITY', column: 'end_entity_id' },
]

/** What has to be there, not archived, before one of a kind comes back. */
export const above: Readonly<Record<EntitiesEnum, readonly Link[]>> = {
  REALM: [],
  POLICY: [
    { kind: 'REALM', column: 'realm_id' },
    { kind: 'CERTIFICATE_PROVIDER', column: 'certificate_provider_id' },
  ],
  END_ENTITY: [{ kind: 'REALM', column: 'realm_id' }],
  CERT_REQUEST: parents,
  CERTIFICATE: parents,
  CERTIFICATE_PROVIDER: [],
  CA: [],
  MAILING_LIST: [],
}

const endEntityName = `(select coalesce(e.common_name, e.alias, e.id::text) from end_entity e where e.id = t.end_entity_id)`

/** How the audit log names a row `t`. */
export const labels: Readonly<Record<EntitiesEnum, string>> = {
  REALM: `'Realm ' || t.name`,
  POLICY: `'Policy ' || t.name`,
  END_ENTITY: `'End entity ' || coalesce(t.common_name, t.alias, t.id::text)`,
  CERT_REQUEST: `'Certificate request of ' || ${endEntityName}`,
  CERTIFICATE: `'Certificate ' || coalesce(nullif(t.subject_dn, ''), t.serial_number)`,
  CERTIFICATE_PROVIDER: `'Certificate provider ' || t.name`,
  CA: `'CA ' || coalesce(t.name, t.subject_dn)`,
  MAILING_LIST: `'Mailing list ' || t.name`,
}

/** What stands for a realm or a certificate that there is not. */
export const none = 'null::uuid'

/** The realm that an event about a row `t` belongs to, and the certificate. */
export const belongings: Readonly<Record<EntitiesEnum, { readonly realm: string; readonly certificate: string }>> = {
  REALM: { realm: 't.id', certificate: none },
  POLICY: { realm: 't.realm_id', certificate: none },
  END_ENTITY: { realm: 't.realm_id', certificate: none },
  CERT_REQUEST: { realm: 't.realm_id', certificate: 't.certificate_id' },
  CERTIFICATE: { realm: 't.realm_id', certificate: 't.id' },
  CERTIFICATE_PROVIDER: { realm: none, certificate: none },
  CA: { realm: none, certificate: none },
  MAILING_LIST: { realm: none, certificate: none },
}

/** Why rows cannot be archived: a statement that answers one of them, of those with the ids `$1`. */
export interface Refusal {
  readonly code: ApiError
  readonly sql: string
  /** Whether it asks for the present, `$2`. */
  readonly now?: true
}

const isActive = `not archived and revocation_date is null and valid_not_after >= $2::timestamptz`

const active = (column: string): Refusal => ({
  code: 'ACTIVE_CERTIFICATES_EXIST',
  sql: `select ${column} as id from certificate where ${column} = any($1::uuid[]) and ${isActive} limit 1`,
  now: true,
})

const ofSystem = (table: string, column: string): Refusal => ({
  code: 'SYSTEM_ENTITY_PROTECTED',
  sql: `select id from ${table} where id = any($1::uuid[]) and ${column} limit 1`,
})

const inUse = (sql: string): Refusal => ({ code: 'ENTITY_IN_USE', sql: `${sql} limit 1` })

/** What forbids to archive one of a kind. */
export const refusals: Readonly<Record<EntitiesEnum, readonly Refusal[]>> = {
  REALM: [ofSystem('realm', 'system_realm'), active('realm_id')],
  POLICY: [ofSystem('policy', 'system_policy'), active('policy_id')],
  END_ENTITY: [active('end_entity_id')],
  CERT_REQUEST: [active('cert_request_id')],
  CERTIFICATE: [active('id')],
  CERTIFICATE_PROVIDER: [
    inUse(
      `select certificate_provider_id as id from policy where certificate_provider_id = any($1::uuid[]) and not archived`,
    ),
  ],
  CA: [
    inUse(
      `select ca.id from ca join certificate_provider p on p.id = ca.certificate_provider_id
        where ca.id = any($1::uuid[]) and not p.archived and p.certificate_provider_type = 'LOCAL'`,
    ),
  ],
  MAILING_LIST: [],
}
