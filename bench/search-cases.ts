// What is searched for: each CertificateSearchKey and the simple term, rare and frequent values, and callers of few rights.
import type { CertificateSearchKey } from '../domain/enums.ts'
import { idOf, sizes } from './search-fill.ts'

/** One kind of search, asked again and again with other values. */
export interface SearchCase {
  readonly name: string
  readonly operationId:
    | 'searchCertificates'
    | 'searchEndEntities'
    | 'searchCertRequests'
    | 'getCertificateStatisticsForRealm'
    | 'getSoonExpiringCertificates'
    | 'searchUsers'
  /** Who asks: ADMIN, the holder of CERTS_READ on one realm, or of a hundred single certificates. */
  readonly as: 'ADMIN' | 'ONE_REALM' | 'FEW_CERTIFICATES'
  readonly body: (round: number) => unknown
  readonly params?: (round: number) => Record<string, string>
  readonly query?: Record<string, unknown>
}

const spread = (round: number, below: number): number => (round * 7919 + 13) % below
const host = (round: number): number => spread(round, sizes.endEntities)

const byKey = (key: CertificateSearchKey, what: string, value: (round: number) => string): SearchCase => ({
  name: `${key} (${what})`,
  operationId: 'searchCertificates',
  as: 'ADMIN',
  body: round => ({ searchFilters: [{ key, value: value(round) }] }),
})

const hash = (round: number): string => idOf('serial', spread(round, sizes.certificates)).replaceAll('-', '')

const day = 86_400_000
const aDay = (round: number): string => {
  const start = Date.now() - spread(round, 700) * day
  return `${new Date(start).toISOString()}/${new Date(start + day).toISOString()}`
}

const keys: readonly SearchCase[] = [
  byKey('SUBJECT_DN', 'rare', round => `CN=host-${host(round)}.dept`),
  byKey('SUBJECT_DN', 'every certificate', () => 'O=Example'),
  byKey('SUBJECT_DN', 'none', round => `nobody-${round}`),
  byKey('SUBJECT_COMMON_NAME', 'rare', round => `host-${host(round)}.dept`),
  byKey('ISSUER_DN', 'one of three', round => `Issuing CA ${round % 3}`),
  byKey('ISSUER_DN', 'none', round => `Unknown CA ${round}`),
  byKey('ISSUER_COMMON_NAME', 'a partner', round => `Partner CA ${10 + (round % 40)}`),
  byKey('END_ENTITY_ALIAS', 'rare', round => `host-${10_000 + (host(round) % 90_000)}`),
  byKey('EMAIL', 'rare', round => `admin-${host(round)}@`),
  byKey('DOMAIN', 'rare', round => `host-${host(round)}.example`),
  byKey('IP', 'rare', round => `10.1.${spread(round, 256)}.${spread(round + 1, 256)}`),
  byKey('SERIAL_NUMBER', 'one', hash),
  byKey('FINGERPRINT', 'one', round => hash(round) + hash(round + 1)),
  byKey('CERT_STATUS', 'ACTIVE', () => 'ACTIVE'),
  byKey('CERT_STATUS', 'EXPIRED', () => 'EXPIRED'),
  byKey('CERT_STATUS', 'REVOKED', () => 'REVOKED'),
  byKey('PUBLIC_KEY_ALGORITHM', 'EC', () => 'EC'),
  byKey('PUBLIC_KEY_ALGORITHM', 'none', () => 'EDDSA'),
  byKey('REVOCATION_REASON', 'KEY_COMPROMISE', () => 'KEY_COMPROMISE'),
  byKey('REVOCATION_REASON', 'none', () => 'AA_COMPROMISE'),
  byKey('KEY_PAIR_MODE', 'PKCS10', () => 'PKCS10'),
  byKey('POLICY_ID', 'one of a hundred', round => idOf('policy', round % sizes.policies)),
  byKey('END_ENTITY_ID', 'one', round => idOf('ee', host(round))),
  byKey('ISSUER_CA_ID', 'one of three', round => idOf('ca', round % 3)),
  byKey('VALID_NOT_BEFORE', 'one day', aDay),
  byKey('VALID_NOT_AFTER', 'one day', aDay),
]

const term = (
  operationId: SearchCase['operationId'],
  as: SearchCase['as'],
  [what, simpleSearchTerm, others = {}]: [string, (round: number) => string, object?],
): SearchCase => ({
  name: `${operationId}, ${what}${as === 'ADMIN' ? '' : `, as ${as}`}`,
  operationId,
  as,
  body: round => ({ simpleSearchTerm: simpleSearchTerm(round), ...others }),
})

const nothing = (): string => ''
const rare = (round: number): string => `host-${host(round)}.dept`
const realm = { realmId: idOf('realm', 3) }
// Realm 3 has the end entities whose number ends with 3.
const inRealm = (round: number): string => `host-${host(round) - (host(round) % 10) + 3}.dept`

const terms: readonly SearchCase[] = [
  term('searchCertificates', 'ADMIN', ['no filter', nothing]),
  term('searchCertificates', 'ADMIN', ['term, rare', rare]),
  term('searchCertificates', 'ADMIN', ['term, part of a serial number', round => hash(round).slice(4, 20)]),
  term('searchCertificates', 'ADMIN', ['term, nowhere', round => `nobody-${round}`]),
  term('searchCertificates', 'ADMIN', ['term, every certificate', () => 'example.org']),
  term('searchCertificates', 'ONE_REALM', ['no filter', nothing]),
  term('searchCertificates', 'ONE_REALM', ['term, rare', inRealm]),
  term('searchCertificates', 'FEW_CERTIFICATES', ['no filter', nothing]),
  term('searchCertificates', 'FEW_CERTIFICATES', ['term, rare', rare]),
  term('searchEndEntities', 'ADMIN', ['no filter', nothing, realm]),
  term('searchEndEntities', 'ADMIN', ['term, rare', inRealm, realm]),
  term('searchEndEntities', 'ADMIN', ['term, all of the realm', () => 'example.org', realm]),
  term('searchCertRequests', 'ADMIN', ['no filter', nothing, realm]),
  term('searchCertRequests', 'ADMIN', ['term, rare', inRealm, realm]),
  term('searchCertRequests', 'ADMIN', ['term, all of the realm', () => 'example.org', realm]),
]

const ofRealm = { params: (round: number) => ({ id: idOf('realm', round % sizes.realms) }), body: () => undefined }

const numbers: readonly SearchCase[] = [
  { name: 'statistics of a realm', operationId: 'getCertificateStatisticsForRealm', as: 'ADMIN', ...ofRealm },
  {
    name: 'soon expiring of a realm',
    operationId: 'getSoonExpiringCertificates',
    as: 'ADMIN',
    query: { size: 20 },
    ...ofRealm,
  },
]

const person = (round: number): number => spread(round, sizes.users)
const users = (what: string, body: SearchCase['body']): SearchCase => ({
  name: `searchUsers, ${what}`,
  operationId: 'searchUsers',
  as: 'ADMIN',
  body,
})

const people: readonly SearchCase[] = [
  users('no filter', () => ({})),
  users('term, an address', round => ({ simpleSearchTerm: `person-${person(round)}@` })),
  users('term, both names', round => ({ simpleSearchTerm: `ada family${person(round) % 20011}` })),
  users('term, nowhere', round => ({ simpleSearchTerm: `nobody-${round}` })),
  users('term, everybody', () => ({ simpleSearchTerm: 'example.org' })),
  users('with an RA certificate', () => ({ hasRaCertificate: true })),
  users('without an RA certificate', () => ({ hasRaCertificate: false })),
  users('three ids', round => ({ userIds: [0, 1, 2].map(more => idOf('user', person(round + more))) })),
]

/** Every case. */
export const searchCases: readonly SearchCase[] = [...keys, ...terms, ...numbers, ...people]
