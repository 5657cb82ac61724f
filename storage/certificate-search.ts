// The search of certificates (contract 2 CertificateSearchKey, 6.5 CertificateSearchRequestDto).
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import {
  CertStatus,
  CryptoAlgorithm,
  KeyPairMode,
  RevocationReason,
  type CertificateSearchKey,
  type Enumeration,
} from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import type { GlobalPermission } from '../domain/permission-enums.ts'
import type { Page, PageRequest } from '../domain/search.ts'
import { Certificate } from './certificate.ts'
import { readable } from './grant.ts'
import { alias, likeText, searchPage } from './search.ts'

/** What is looked for; null and absent members do not narrow. */
export interface CertificateQuery {
  readonly realmId: string | null
  readonly simpleSearchTerm: string | null
  readonly certificateIds: string[] | null
  readonly policyId: string | null
  readonly endEntityId: string | null
  readonly certStatuses: CertStatus[] | null
  readonly validNotBeforeStart: Date | null
  readonly validNotBeforeEnd: Date | null
  readonly validNotAfterStart: Date | null
  readonly validNotAfterEnd: Date | null
  readonly searchFilters: { key: CertificateSearchKey; value: string }[] | null
  readonly archived: boolean
  readonly page: PageRequest
  readonly now: Date
}

/** The query that narrows nothing but leaves archived certificates out. */
export const everyCertificate = {
  realmId: null,
  simpleSearchTerm: null,
  certificateIds: null,
  policyId: null,
  endEntityId: null,
  certStatuses: null,
  validNotBeforeStart: null,
  validNotBeforeEnd: null,
  validNotAfterStart: null,
  validNotAfterEnd: null,
  searchFilters: null,
  archived: false,
} as const satisfies Omit<CertificateQuery, 'page' | 'now'>

const column = (name: string): string => `${alias}.${name}`
/** The alternative names of one type, or of all, a line each: no search text holds a line end. */
const sans = (type?: string): string =>
  `(select string_agg(san->>'value', chr(10)) from jsonb_array_elements(${column('subject_alternative_names')}) san${type ? ` where san->>'type' = '${type}'` : ''})`
const ofEndEntity = `(select ee.alias from end_entity ee where ee.id = ${column('end_entity_id')})`
const ofPolicy = `(select po.name from policy po where po.id = ${column('policy_id')})`

const refuse = (key: string): never => {
  throw new Failure('INVALID_REQUEST', `The value of the filter ${key} has the wrong form.`, [
    { field: 'searchFilters', message: `${key} cannot be searched for this value` },
  ])
}

type Condition = (value: string, now: Date, key: string) => RawQueryFragment

const contains =
  (expression: string): Condition =>
  value =>
    raw(`${expression} ilike ?`, [likeText(value)])

const hex =
  (expression: string, shape: RegExp): Condition =>
  (value, _, key) => {
    const bare = value.toLowerCase().replace(/[\s:]/g, '')
    const wanted = expression.endsWith('serial_number') ? bare.replace(/^0+(?=.)/, '') : bare
    return shape.test(wanted) ? raw(`${expression} = ?`, [wanted]) : refuse(key)
  }

const constant =
  (expression: string, values: Enumeration): Condition =>
  (value, _, key) =>
    Object.hasOwn(values, value) ? raw(`${expression} = ?`, [value]) : refuse(key)

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const id =
  (expression: string): Condition =>
  (value, _, key) =>
    uuid.test(value) ? raw(`${expression} = ?::uuid`, [value]) : refuse(key)

const dateForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i
const dateOf = (text: string, key: string): Date | null => {
  const bare = text.trim()
  if (bare === '') return null
  const date = new Date(bare)
  return dateForm.test(bare) && !Number.isNaN(date.getTime()) ? date : refuse(key)
}

const period =
  (expression: string): Condition =>
  (value, _, key) => {
    const [from, to, ...more] = value.split('/')
    if (from === undefined || to === undefined || more.length > 0) return refuse(key)
    const bounds = [dateOf(from, key), dateOf(to, key)]
    return raw(
      `(${expression} >= coalesce(?::timestamptz, '-infinity') and ${expression} <= coalesce(?::timestamptz, 'infinity'))`,
      bounds,
    )
  }

const statuses: Record<CertStatus, (now: Date) => RawQueryFragment> = {
  REVOKED: () => raw(`${column('revocation_date')} is not null`),
  EXPIRED: now => raw(`(${column('revocation_date')} is null and ${column('valid_not_after')} < ?)`, [now]),
  ACTIVE: now => raw(`(${column('revocation_date')} is null and ${column('valid_not_after')} >= ?)`, [now]),
}

const conditions: Record<CertificateSearchKey, Condition> = {
  SUBJECT_DN: contains(column('subject_dn')),
  SUBJECT_COMMON_NAME: contains(column('subject_common_name')),
  ISSUER_DN: contains(column('issuer_dn')),
  ISSUER_COMMON_NAME: contains(column('issuer_common_name')),
  END_ENTITY_ALIAS: contains(ofEndEntity),
  EMAIL: contains(sans('EMAIL')),
  DOMAIN: contains(sans('DNS')),
  IP: contains(sans('IP')),
  SERIAL_NUMBER: hex(column('serial_number'), /^[0-9a-f]{1,40}$/),
  FINGERPRINT: hex(column('fingerprint'), /^[0-9a-f]{64}$/),
  CERT_STATUS: (value, now, key) =>
    Object.hasOwn(CertStatus, value) ? statuses[value as CertStatus](now) : refuse(key),
  PUBLIC_KEY_ALGORITHM: constant(column('cert_public_key_algorithm'), CryptoAlgorithm),
  REVOCATION_REASON: constant(column('revocation_reason'), RevocationReason),
  KEY_PAIR_MODE: constant(column('key_pair_mode'), KeyPairMode),
  POLICY_ID: id(column('policy_id')),
  END_ENTITY_ID: id(column('end_entity_id')),
  ISSUER_CA_ID: id(column('issuer_ca_id')),
  VALID_NOT_BEFORE: period(column('valid_not_before')),
  VALID_NOT_AFTER: period(column('valid_not_after')),
}

const termFields = [...['subject_dn', 'issuer_dn', 'serial_number', 'fingerprint'].map(column), sans()]

const sortable = `id endEntityId policyId serialNumber subjectDn subjectCommonName issuerDn issuerCommonName
  validNotBefore validNotAfter certPublicKeyAlgorithm fingerprint certRequestId realmId certPublicKeySize namedCurve
  signatureAlgorithm issuerCaId revocationReason revocationDate imported selfSigned policyName endEntityCommonName
  endEntityAlias`.split(/\s+/)

const bounds = (name: string, from: Date | null, to: Date | null): (RawQueryFragment | undefined)[] => [
  from ? raw(`${column(name)} >= ?`, [from]) : undefined,
  to ? raw(`${column(name)} <= ?`, [to]) : undefined,
]

const anyOf = (fragments: readonly RawQueryFragment[]): RawQueryFragment =>
  raw(
    `(${fragments.map(({ sql }) => sql).join(' or ')})`,
    fragments.flatMap(({ params }) => [...params]),
  )

const whereOf = ({ realmId, policyId, endEntityId, certificateIds, archived }: CertificateQuery) => ({
  archived,
  ...(realmId && { realmId }),
  ...(policyId && { policyId }),
  ...(endEntityId && { endEntityId }),
  ...(certificateIds && { id: { $in: certificateIds } }),
})

/** One page of the certificates that satisfy the query and that this principal may read. */
export const findCertificates = (
  em: EntityManager,
  reader: { id: string; global: ReadonlySet<GlobalPermission> },
  query: CertificateQuery,
): Promise<Page<Certificate>> =>
  searchPage(em, Certificate, {
    where: whereOf(query),
    and: [
      ...(query.searchFilters ?? []).map(({ key, value }) => conditions[key](value, query.now, key)),
      query.certStatuses?.length ? anyOf(query.certStatuses.map(status => statuses[status](query.now))) : undefined,
      ...bounds('valid_not_before', query.validNotBeforeStart, query.validNotBeforeEnd),
      ...bounds('valid_not_after', query.validNotAfterStart, query.validNotAfterEnd),
      readable('READ_CERTIFICATE', reader, {
        REALM: column('realm_id'),
        POLICY: column('policy_id'),
        CERTIFICATE: column('id'),
      }),
    ],
    term: { text: query.simpleSearchTerm, in: [...termFields, ofEndEntity, ofPolicy] },
    page: query.page,
    sortable,
    computed: {
      certStatus: `case when ${column('revocation_date')} is not null then 'REVOKED' when ${column('valid_not_after')} < now() then 'EXPIRED' else 'ACTIVE' end`,
      hasPrivateKey: `${column('private_key_id')} is not null`,
    },
  })
