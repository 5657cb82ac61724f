// The filters of the certificate search, one a CertificateSearchKey (contract 2), each with an index that serves it.
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import { findDate } from '../../domain/date.ts'
import {
  CertStatus,
  CryptoAlgorithm,
  KeyPairMode,
  RevocationReason,
  type CertificateSearchKey,
  type Enumeration,
} from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import { among } from './among.ts'
import { alias, foundInText, likeText } from './search.ts'

/** A filter as it was asked for, and what it is judged with. */
export interface Filter {
  readonly em: EntityManager
  readonly key: CertificateSearchKey
  readonly value: string
  readonly now: Date
}

type Condition = (filter: Filter) => RawQueryFragment | Promise<RawQueryFragment>

const column = (name: string): string => `${alias}.${name}`

const refuse = (key: string): never => {
  throw new Failure('INVALID_REQUEST', `The value of the filter ${key} has the wrong form.`, [
    { field: 'searchFilters', message: `${key} cannot be searched for this value` },
  ])
}

/** Finds a part of something that the search text holds as well: its index leads to the rows, the rest decides. */
const withinText =
  (condition: string): Condition =>
  ({ value }) => {
    const { sql, params } = foundInText(value)
    return raw(`(${sql} and ${condition})`, [...params, likeText(value)])
  }

const contains = (name: string): Condition => withinText(`lower(${column(name)}) like lower(?)`)

const containsSan = (type: 'EMAIL' | 'DNS' | 'IP'): Condition =>
  withinText(
    `exists (select 1 from jsonb_array_elements(${column('subject_alternative_names')}) san
      where san->>'type' = '${type}' and lower(san->>'value') like lower(?))`,
  )

// There are few different issuers among many certificates: stepping from one key to the next finds them all.
const issuersWith = (member: 'issuer_dn' | 'issuer_common_name'): string => `select issuer.value from (
  with recursive issuer as (
    (select issuer_key as value, issuer_dn, issuer_common_name from certificate order by issuer_key limit 1)
    union all
    select next.* from issuer cross join lateral (
      select issuer_key, issuer_dn, issuer_common_name from certificate
       where issuer_key > issuer.value order by issuer_key limit 1) next)
  select value from issuer where ${member} ilike ?) issuer`

/** A condition that keeps the certificates of issuers with this text in their name; undefined when there are none. */
export const issuedBy = (em: EntityManager, member: 'issuer_dn' | 'issuer_common_name', text: string) =>
  among(em, column('issuer_key'), { sql: issuersWith(member), params: [likeText(text)], type: 'bigint' })

/** A condition that keeps the certificates of end entities with this text in their alias; undefined as above. */
export const ofAlias = (em: EntityManager, text: string) =>
  among(em, column('end_entity_id'), {
    sql: 'select ee.id as value from end_entity ee where lower(ee.alias) like lower(?)',
    params: [likeText(text)],
    type: 'uuid',
  })

/** A condition that keeps what hangs on policies with this text in their name; undefined when there are none. */
export const ofPolicyNamed = (em: EntityManager, text: string) =>
  among(em, column('policy_id'), {
    sql: 'select po.id as value from policy po where po.name ilike ?',
    params: [likeText(text)],
    type: 'uuid',
  })

const orNone = (condition: RawQueryFragment | undefined): RawQueryFragment => condition ?? raw('false')

const hex =
  (name: string, shape: RegExp): Condition =>
  ({ value, key }) => {
    const bare = value.toLowerCase().replace(/[\s:]/g, '')
    const wanted = name === 'serial_number' ? bare.replace(/^0+(.)/, '$1') : bare
    return shape.test(wanted) ? raw(`${column(name)} = ?`, [wanted]) : refuse(key)
  }

const constant =
  (name: string, values: Enumeration): Condition =>
  ({ value, key }) =>
    Object.hasOwn(values, value) ? raw(`${column(name)} = ?`, [value]) : refuse(key)

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const id =
  (name: string): Condition =>
  ({ value, key }) =>
    uuid.test(value) ? raw(`${column(name)} = ?::uuid`, [value]) : refuse(key)

const dateOf = (text: string, key: string): Date | null => {
  const bare = text.trim()
  return bare === '' ? null : (findDate(bare) ?? refuse(key))
}

const period =
  (name: string): Condition =>
  ({ value, key }) => {
    const [from, to, ...more] = value.split('/')
    if (from === undefined || to === undefined || more.length > 0) return refuse(key)
    const bounds = [dateOf(from, key), dateOf(to, key)]
    return raw(
      `(${column(name)} >= coalesce(?::timestamptz, '-infinity') and ${column(name)} <= coalesce(?::timestamptz, 'infinity'))`,
      bounds,
    )
  }

/** The conditions of the states, which time changes without a write (contract 4.3). */
export const statuses: Record<CertStatus, (now: Date) => RawQueryFragment> = {
  REVOKED: () => raw(`${column('revocation_date')} is not null`),
  EXPIRED: now => raw(`(${column('revocation_date')} is null and ${column('valid_not_after')} < ?)`, [now]),
  ACTIVE: now => raw(`(${column('revocation_date')} is null and ${column('valid_not_after')} >= ?)`, [now]),
}

const conditions: Record<CertificateSearchKey, Condition> = {
  SUBJECT_DN: contains('subject_dn'),
  SUBJECT_COMMON_NAME: contains('subject_common_name'),
  ISSUER_DN: async ({ em, value }) => orNone(await issuedBy(em, 'issuer_dn', value)),
  ISSUER_COMMON_NAME: async ({ em, value }) => orNone(await issuedBy(em, 'issuer_common_name', value)),
  END_ENTITY_ALIAS: async ({ em, value }) => orNone(await ofAlias(em, value)),
  EMAIL: containsSan('EMAIL'),
  DOMAIN: containsSan('DNS'),
  IP: containsSan('IP'),
  SERIAL_NUMBER: hex('serial_number', /^[0-9a-f]{1,40}$/),
  FINGERPRINT: hex('fingerprint', /^[0-9a-f]{64}$/),
  CERT_STATUS: ({ value, now, key }) =>
    Object.hasOwn(CertStatus, value) ? statuses[value as CertStatus](now) : refuse(key),
  PUBLIC_KEY_ALGORITHM: constant('cert_public_key_algorithm', CryptoAlgorithm),
  REVOCATION_REASON: ({ value, key }) =>
    Object.hasOwn(RevocationReason, value)
      ? raw(`(${column('revocation_date')} is not null and ${column('revocation_reason')} = ?)`, [value])
      : refuse(key),
  KEY_PAIR_MODE: constant('key_pair_mode', KeyPairMode),
  POLICY_ID: id('policy_id'),
  END_ENTITY_ID: id('end_entity_id'),
  ISSUER_CA_ID: id('issuer_ca_id'),
  VALID_NOT_BEFORE: period('valid_not_before'),
  VALID_NOT_AFTER: period('valid_not_after'),
}

/** The condition of one filter; INVALID_REQUEST when its value has the wrong form. */
export const conditionOf = async (filter: Filter): Promise<RawQueryFragment> => conditions[filter.key](filter)
