// Claims of runs on certificate requests: at most one run has a request at a time (contract 4.2).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequestStatus } from '../domain/enums.ts'
import { entityOf, metadataOf, selectedColumns } from './entity-rows.ts'
import { Certificate } from './rows/certificate.ts'
import { anyOf, statement, type Statement } from './statement.ts'

/** Which requests a run claims: those in one of the states. */
export interface Claim {
  readonly ids: readonly string[]
  readonly states: readonly CertRequestStatus[]
  readonly now: Date
}

const idsOf = (rows: readonly { readonly id: string }[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id))

/** Claims those of the requests that no run has; answers which. All that lock many requests do so in the order of their ids. */
export const claimRequests = async (
  em: EntityManager,
  runId: string,
  { ids, states, now }: Claim,
): Promise<ReadonlySet<string>> => {
  const rows = await em.execute<{ id: string }[]>(
    `update cert_request set run_id = ?, run_since = ?
      where id in (select id from cert_request where id = any(?::uuid[]) order by id for update)
        and run_id is null and not archived and cert_request_status = any(?::text[]) returning id`,
    [runId, now, `{${ids.join(',')}}`, `{${states.join(',')}}`],
  )
  return idsOf(rows)
}

/** The certificates that a run has signed, by the id of their request, and whether a synchronous call has to deliver them. */
export interface Signed {
  readonly certificateIds: ReadonlyMap<string, string>
  readonly undelivered: boolean
  readonly now: Date
}

// `is not distinct from` keeps the planner from looking for the requests of the run, of which there may be ten thousand.
const marking = statement<{ id: string }>(
  `update cert_request r set cert_request_status = 'ISSUED', certificate_id = x.certificate_id, run_id = null,
          run_since = null, undelivered = $4, version = version + 1, last_modified_by = null,
          last_modified_by_type = 'SYSTEM', last_modified_date = $5
     from unnest($1::uuid[], $2::uuid[]) as x(id, certificate_id)
    where r.id in (select id from cert_request where id = any($1::uuid[]) order by id for update)
      and r.id = x.id and r.run_id is not distinct from $3 and r.cert_request_status = 'APPROVED' and not r.archived
    returning r.id`,
)

/** Makes those requests ISSUED that the run still has, ends its claim on them and answers which; the service did it. */
export const markIssued = async (
  em: EntityManager,
  runId: string,
  { certificateIds, undelivered, now }: Signed,
): Promise<ReadonlySet<string>> => {
  if (certificateIds.size === 0) return new Set()
  const [ids, theirs] = [[...certificateIds.keys()], [...certificateIds.values()]]
  return idsOf(await marking.all(em, [ids, theirs, runId, undelivered, now]))
}

/** A request that a run had and has no more. */
export interface Released {
  readonly id: string
  readonly realmId: string
  /** How people recognise it: by the end entity. */
  readonly label: string
}

/** Ends the claim of a run on those of the requests that it still has; answers these. */
export const releaseRequests = async (
  em: EntityManager,
  runId: string,
  ids: readonly string[],
): Promise<readonly Released[]> => {
  if (ids.length === 0) return []
  return em.execute<Released[]>(
    `update cert_request set run_id = null, run_since = null where id = any(?::uuid[]) and run_id = ?
     returning id, realm_id as "realmId",
       (select coalesce(common_name, alias, id::text) from end_entity where id = end_entity_id) as label`,
    [`{${ids.join(',')}}`, runId],
  )
}

/** Marks certificates as delivered; answers the requests whose certificate no call had delivered before. */
export const deliver = async (em: EntityManager, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await em.execute<{ id: string }[]>(
    'update cert_request set undelivered = false where id = any(?::uuid[]) and undelivered returning id',
    [`{${ids.join(',')}}`],
  )
  return idsOf(rows)
}

/** A request that has its certificate. */
export interface Issued {
  readonly certRequestId: string
  readonly certificateId: string
}

const issued = statement<Issued>(
  `select id as "certRequestId", certificate_id as "certificateId" from cert_request
    where id = ${anyOf('$1::uuid[]')} and certificate_id is not null`,
)

/** Those of the requests that have their certificate. */
export const issuedAmong = (em: EntityManager, ids: readonly string[]): Promise<Issued[]> => issued.all(em, [ids])

interface Delivered {
  /** Whether no call had delivered it before. */
  readonly isFirst: boolean
}

let delivering: Statement<Delivered> | undefined

const handingOut = (em: EntityManager): string =>
  `with delivered as (update cert_request set undelivered = false where id = $1 and undelivered returning id)
   select exists (select from delivered) as "isFirst", ${selectedColumns(metadataOf(em, Certificate), 'c', 'c.')}
     from certificate c where c.id = $2 and c.cert_request_id = $1`

/** Hands out the certificate of a request, which counts as delivered from then on; tells whether it did not before. */
export const handOut = async (
  em: EntityManager,
  { certRequestId, certificateId }: Issued,
): Promise<Delivered & { readonly certificate: Certificate }> => {
  delivering ??= statement<Delivered>(handingOut(em))
  const [row] = await delivering.all(em, [certRequestId, certificateId])
  const certificate = row && entityOf(em, Certificate, { row, prefix: 'c.' })
  if (!certificate) throw new Error(`The certificate ${certificateId} that was issued is missing.`)
  return { isFirst: row.isFirst, certificate }
}
