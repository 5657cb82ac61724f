// The lists of certificate requests (contract 6.4 CertReqSearchRequestDto, CertReqSearchByPkcs10).
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import type { CertRequestStatus } from '../../domain/enums.ts'
import type { Page, PageRequest } from '../../domain/search.ts'
import { among, anyOf } from './among.ts'
import { CertRequest } from '../rows/cert-request.ts'
import { readableRows, type Reader } from './readable-rows.ts'
import { alias, amongIds, likeText, rowWithId, searchPage } from './search.ts'

/** What is looked for; null members and an empty set of states do not narrow. */
export interface CertRequestQuery {
  readonly realmId: string
  readonly simpleSearchTerm: string | null
  readonly policyId: string | null
  readonly endEntityId: string | null
  readonly certRequestIds: readonly string[] | null
  readonly certRequestStatuses: readonly CertRequestStatus[] | null
  readonly createdBy: string | null
  readonly reference: string | null
  readonly archived: boolean
  readonly page: PageRequest
}

const column = (name: string): string => `${alias}.${name}`

const readable = (em: EntityManager, reader: Reader) =>
  readableRows(em, 'READ_CERT_REQUEST', {
    reader,
    columns: { REALM: column('realm_id'), POLICY: column('policy_id'), CERT_REQUEST: column('id') },
  })

// The search text of an end entity holds more than these fields: its index leads to the rows, the fields decide.
const ofEndEntity = `select ee.id as value from end_entity ee where ee.realm_id = ? and ee.search_text like lower(?)
  and (ee.common_name ilike ? or ee.alias ilike ? or ee.email ilike ?)`
const ofPolicy = 'select po.id as value from policy po where po.realm_id = ? and po.name ilike ?'

/** The simple term: in common name, alias and address of the end entity or the policy's name, or the request's id. */
const termOf = async (
  em: EntityManager,
  { realmId, simpleSearchTerm: text }: CertRequestQuery,
): Promise<RawQueryFragment | undefined> => {
  if (!text) return undefined
  const like = likeText(text)
  return anyOf([
    await among(em, column('end_entity_id'), {
      sql: ofEndEntity,
      params: [realmId, like, like, like, like],
      type: 'uuid',
    }),
    await among(em, column('policy_id'), { sql: ofPolicy, params: [realmId, like], type: 'uuid' }),
    rowWithId(text),
  ])
}

const whereOf = (query: CertRequestQuery) => ({
  realmId: query.realmId,
  archived: query.archived,
  ...(query.policyId && { policyId: query.policyId }),
  ...(query.endEntityId && { endEntityId: query.endEntityId }),
  ...(query.certRequestStatuses?.length && { certRequestStatus: { $in: [...query.certRequestStatuses] } }),
  ...(query.createdBy && { createdBy: query.createdBy }),
  ...(query.reference && { reference: query.reference }),
})

/** One page of the requests of a realm that satisfy the query and that this principal may read. */
export const findCertRequests = async (
  em: EntityManager,
  reader: Reader,
  query: CertRequestQuery,
): Promise<Page<CertRequest>> =>
  searchPage(em, CertRequest, {
    where: whereOf(query),
    and: [
      query.certRequestIds ? amongIds(query.certRequestIds) : undefined,
      await termOf(em, query),
      await readable(em, reader),
    ],
    page: query.page,
    computed: {
      orderId: `case when ${column('run_id')} like 'order-%' then ${column('run_id')} end`,
      pkcs10ReqBase64: column('pkcs10'),
      publicKeyBase64: column('public_key'),
    },
  })

// As the index cert_request_open has it, word for word: parameters would hide from the planner that it fits.
const open = `${column('cert_request_status')} in ('PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION')`

/** The newest requests of a realm that wait for a person and that this principal may read. */
export const findOpenCertRequests = async (
  em: EntityManager,
  reader: Reader,
  { realmId, size }: { realmId: string; size: number },
): Promise<Page<CertRequest>> =>
  searchPage(em, CertRequest, {
    where: { realmId, archived: false },
    and: [raw(open), await readable(em, reader)],
    page: { page: 0, size, sort: [] },
  })

/** The newest request of an end entity with this PKCS#10 request (DER, without secrets); an archived one only when there is no other. */
export const findByPkcs10 = (em: EntityManager, endEntityId: string, pkcs10: Buffer): Promise<CertRequest | null> =>
  em.findOne(
    CertRequest,
    { endEntityId, pkcs10 },
    { orderBy: [{ archived: 'asc' }, { createdDate: 'desc' }, { id: 'asc' }] },
  )
