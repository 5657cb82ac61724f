// What the records say should be running: the reconciler starts what of it does not (docs/issuance.md). Rows younger than
// `before` are left alone, because their own call is about to start the run.
import { raw, type EntityManager } from '@mikro-orm/postgresql'
import { CertRequest } from './rows/cert-request.ts'
import { CertificateProvider } from './rows/certificate-provider.ts'

/** The most runs of a kind that are looked at in one pass. */
const maxRuns = 5000

const dayMs = 86_400_000
const minuteMs = 60_000

/** Rows of the last ten minutes are looked at in every pass, older ones in turns. */
const youngMs = 10 * minuteMs

/** So many older rows are looked at in one pass, about: thousands wait for weeks, and asking after each costs Temporal. */
const olderAtOnce = 1000

/** Which older rows a pass looks at: each row is in one of the slices, and each minute has its own. */
export const sliceAt = (count: number, at: Date): { readonly slices: number; readonly slice: number } => {
  const slices = Math.max(1, Math.ceil(count / olderAtOnce))
  return { slices, slice: Math.floor(at.getTime() / minuteMs) % slices }
}

/** The requests that synchronous runs have claimed, by run. */
export const claimedRequests = async (
  em: EntityManager,
  before: Date,
): Promise<ReadonlyMap<string, readonly CertRequest[]>> => {
  const claimed = { runId: { $ne: null, $like: 'issue/%' }, runSince: { $lt: before } }
  const rows = await em.find(CertRequest, claimed, { limit: maxRuns })
  return Map.groupBy(rows, ({ runId }) => runId ?? '')
}

/** An order or revocation as its run is started: how many requests it has, and the first of them. */
export interface RunningOrder {
  readonly id: string
  readonly count: number
  readonly requests: readonly {
    readonly id: string
    readonly realmId: string
    readonly policyId: string
    readonly policyName: string
  }[]
}

/** So many requests of an order are read: what its run is found by (workflows/starts.ts). */
const requestsRead = 40

const isOpenOrder = `o.status = 'RUNNING' and o.id like 'order-%'`

/** The orders that are not closed and whose turn it is, the newest first. */
export const runningOrders = async (em: EntityManager, before: Date): Promise<RunningOrder[]> => {
  const young = new Date(before.getTime() - youngMs)
  const [older] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from certificate_order o where ${isOpenOrder} and o.started_date < ?`,
    [young],
  )
  const { slices, slice } = sliceAt(older?.count ?? 0, before)
  const rows = await em.execute<(Omit<RunningOrder, 'count'> & { readonly count: string })[]>(
    `select o.id, (select count(*) from order_item where order_id = o.id) as count, coalesce(first.requests, '[]') as requests
       from certificate_order o
       left join lateral (
         select jsonb_agg(jsonb_build_object('id', r.id, 'realmId', r.realm_id, 'policyId', r.policy_id,
                                             'policyName', p.name) order by i.position) as requests
           from (select * from order_item where order_id = o.id order by position limit ?) i
           join cert_request r on r.id = i.cert_request_id join policy p on p.id = r.policy_id) first on true
      where ${isOpenOrder} and o.started_date < ? and (o.started_date >= ? or abs(hashtext(o.id)::bigint) % ? = ?)
      order by o.started_date desc limit ?`,
    [requestsRead, before, young, slices, slice, maxRuns],
  )
  return rows.map(row => ({ ...row, count: Number(row.count) }))
}

/** The revocations that are not closed, the newest first. */
export const openRevocations = async (em: EntityManager, before: Date): Promise<RunningOrder[]> => {
  const rows = await em.execute<(Omit<RunningOrder, 'count'> & { readonly count: string })[]>(
    `select v.id, (select count(*) from revocation_item where revocation_id = v.id) as count, coalesce(first.requests, '[]') as requests
       from revocation v
       left join lateral (
         select jsonb_agg(jsonb_build_object('id', c.cert_request_id, 'realmId', c.realm_id, 'policyId', c.policy_id,
                                             'policyName', p.name) order by i.position) as requests
           from (select * from revocation_item where revocation_id = v.id order by position limit ?) i
           join certificate c on c.id = i.certificate_id join policy p on p.id = c.policy_id) first on true
      where v.closed_date is null and v.started_date < ? order by v.started_date desc limit ?`,
    [requestsRead, before, maxRuns],
  )
  return rows.map(row => ({ ...row, count: Number(row.count) }))
}

/** The requests of the last day that wait for people and whose turn it is, the newest first. */
export const waitingRequests = async (em: EntityManager, before: Date): Promise<CertRequest[]> => {
  const young = new Date(before.getTime() - youngMs)
  const $gt = new Date(before.getTime() - dayMs)
  const waiting = {
    certRequestStatus: { $in: ['PENDING_APPROVAL' as const, 'REQUIRES_EMAIL_VERIFICATION' as const] },
    archived: false,
  }
  const older = await em.count(CertRequest, { ...waiting, createdDate: { $lt: young, $gt } })
  const { slices, slice } = sliceAt(older, before)
  const inTurn = { [raw(alias => `abs(hashtext(${alias}.id::text)::bigint) % ${slices}`)]: slice }
  return em.find(
    CertRequest,
    { ...waiting, createdDate: { $lt: before, $gt }, $or: [{ createdDate: { $gte: young } }, inTurn] },
    { limit: maxRuns, orderBy: { createdDate: 'desc' } },
  )
}

/** The providers that plan a rollover. */
export const rolloverProviders = (em: EntityManager, before: Date): Promise<CertificateProvider[]> =>
  em.find(CertificateProvider, { rollover: { $ne: null }, lastModifiedDate: { $lt: before } }, { limit: maxRuns })

/** The providers whose CA is not known; one whose preparation failed for a reason that stays is tried again after a day. */
export const providersWithoutCa = (em: EntityManager, before: Date): Promise<CertificateProvider[]> => {
  const dayBefore = new Date(before.getTime() - dayMs)
  const unmade = { issuingCaId: null, archived: false, createdDate: { $lt: before } }
  const hopeful = [{ preparationFailedDate: null }, { preparationFailedDate: { $lt: dayBefore } }]
  return em.find(CertificateProvider, { ...unmade, $or: hopeful }, { limit: maxRuns })
}
