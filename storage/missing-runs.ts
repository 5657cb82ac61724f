// What the records say should be running: the reconciler starts what of it does not (docs/issuance.md). Rows younger than
// `before` are left alone, because their own call is about to start the run.
import type { EntityManager } from '@mikro-orm/postgresql'
import { CertRequest } from './rows/cert-request.ts'
import { CertificateProvider } from './rows/certificate-provider.ts'

/** The most runs of a kind that are looked at in one pass. */
const maxRuns = 5000

const dayMs = 86_400_000

/** The requests that synchronous runs have claimed, by run. */
export const claimedRequests = async (
  em: EntityManager,
  before: Date,
): Promise<ReadonlyMap<string, readonly CertRequest[]>> => {
  const claimed = { runId: { $ne: null, $like: 'issue/%' }, runSince: { $lt: before } }
  const rows = await em.find(CertRequest, claimed, { limit: maxRuns })
  return Map.groupBy(rows, ({ runId }) => runId ?? '')
}

/** An order as its run is started: how many requests it has, and the first of them. */
export interface RunningOrder {
  readonly id: string
  readonly count: number
  readonly first: { readonly id: string; readonly realmId: string; readonly policyId: string } | undefined
}

interface OrderRow {
  readonly id: string
  readonly count: string
  readonly request_id: string | null
  readonly realm_id: string
  readonly policy_id: string
}

const firstOf = ({ request_id: id, realm_id: realmId, policy_id: policyId }: OrderRow): RunningOrder['first'] =>
  id === null ? undefined : { id, realmId, policyId }

/** The orders that are not closed, the newest first. */
export const runningOrders = async (em: EntityManager, before: Date): Promise<RunningOrder[]> => {
  const rows = await em.execute<OrderRow[]>(
    `select o.id, (select count(*) from order_item where order_id = o.id) as count,
            r.id as request_id, r.realm_id, r.policy_id
       from certificate_order o
       left join lateral (select cert_request_id from order_item where order_id = o.id order by position limit 1) i on true
       left join cert_request r on r.id = i.cert_request_id
      where o.status = 'RUNNING' and o.started_date < ? and o.id like 'order-%' order by o.started_date desc`,
    [before],
  )
  return rows.map(row => ({ id: row.id, count: Number(row.count), first: firstOf(row) }))
}

/** The requests of the last day that wait for people, the newest first. */
export const waitingRequests = (em: EntityManager, before: Date): Promise<CertRequest[]> =>
  em.find(
    CertRequest,
    {
      certRequestStatus: { $in: ['PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION'] },
      archived: false,
      createdDate: { $lt: before, $gt: new Date(before.getTime() - dayMs) },
    },
    { limit: maxRuns, orderBy: { createdDate: 'desc' } },
  )

/** The providers whose CA is not known; one whose preparation failed for a reason that stays is tried again after a day. */
export const providersWithoutCa = (em: EntityManager, before: Date): Promise<CertificateProvider[]> => {
  const dayBefore = new Date(before.getTime() - dayMs)
  const unmade = { issuingCaId: null, archived: false, createdDate: { $lt: before } }
  const hopeful = [{ preparationFailedDate: null }, { preparationFailedDate: { $lt: dayBefore } }]
  return em.find(CertificateProvider, { ...unmade, $or: hopeful }, { limit: maxRuns })
}
