// The search of certificates (contract 6.5 CertificateSearchRequestDto).
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import type { CertificateSearchKey, CertStatus } from '../../domain/enums.ts'
import type { Page, PageRequest } from '../../domain/search.ts'
import { anyOf } from './among.ts'
import { conditionOf, issuedBy, ofAlias, ofPolicyNamed, statuses } from './certificate-filters.ts'
import { Certificate } from '../rows/certificate.ts'
import { readableRows, type Reader } from './readable-rows.ts'
import { alias, amongIds, foundInText, likeText, rowWithId, searchPage, within } from './search.ts'

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

const whereOf = ({ realmId, policyId, endEntityId, archived }: CertificateQuery) => ({
  archived,
  ...(realmId && { realmId }),
  ...(policyId && { policyId }),
  ...(endEntityId && { endEntityId }),
})

/** Serial number and fingerprint are lower-case hex, in which no other text is found. */
const inNumbers = (text: string): RawQueryFragment | undefined =>
  /^[0-9a-f]+$/i.test(text)
    ? raw(`(${column('serial_number')} || ' ' || ${column('fingerprint')}) like lower(?)`, [likeText(text)])
    : undefined

/** The simple term: in subject and alternative names, or of serial number, fingerprint, issuer, alias, policy or id. */
const termOf = async (em: EntityManager, text: string | null): Promise<RawQueryFragment | undefined> => {
  if (!text) return undefined
  const others = [issuedBy(em, 'issuer_dn', text), ofAlias(em, text), ofPolicyNamed(em, text)]
  return anyOf([foundInText(text), inNumbers(text), ...(await Promise.all(others)), rowWithId(text)])
}

const filtersOf = (em: EntityManager, { searchFilters, now }: CertificateQuery) =>
  Promise.all((searchFilters ?? []).map(filter => conditionOf({ em, now, ...filter })))

const statusAt = (now: Date): string =>
  `case when ${column('revocation_date')} is not null then 'REVOKED'
    when ${column('valid_not_after')} < '${now.toISOString()}'::timestamptz then 'EXPIRED' else 'ACTIVE' end`

/** One page of the certificates that satisfy the query and that this principal may read. */
export const findCertificates = async (
  em: EntityManager,
  reader: Reader,
  query: CertificateQuery,
): Promise<Page<Certificate>> => {
  const columns = { REALM: column('realm_id'), POLICY: column('policy_id'), CERTIFICATE: column('id') }
  return searchPage(em, Certificate, {
    where: whereOf(query),
    and: [
      query.certificateIds ? amongIds(query.certificateIds) : undefined,
      ...(await filtersOf(em, query)),
      query.certStatuses?.length ? anyOf(query.certStatuses.map(status => statuses[status](query.now))) : undefined,
      ...within('valid_not_before', query.validNotBeforeStart, query.validNotBeforeEnd),
      ...within('valid_not_after', query.validNotAfterStart, query.validNotAfterEnd),
      await readableRows(em, 'READ_CERTIFICATE', { reader, columns }),
      await termOf(em, query.simpleSearchTerm),
    ],
    page: query.page,
    computed: {
      certStatus: statusAt(query.now),
      hasPrivateKey: `${column('private_key_id')} is not null`,
    },
  })
}
