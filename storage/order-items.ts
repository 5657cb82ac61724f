// The items of orders: which may be issued, how they end, and how many stand how.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OrderStatus } from '../domain/enums.ts'
import type { ApiError } from '../domain/failure.ts'
import { record } from './audit.ts'
import type { CertRequest } from './rows/cert-request.ts'
import { OrderItem } from './rows/certificate-order.ts'
import { statement } from './statement.ts'

/** How one item ended. */
export interface ItemEnd {
  readonly certRequestId: string
  readonly status: Exclude<OrderStatus, 'RUNNING'>
  readonly failure?: { readonly apiError: ApiError; readonly errorMessage: string } | undefined
}

// Each item is looked up and locked by its request, one after the other in the order of their ids, and `is not distinct from` leaves
// no other index: what else the planner may choose depends on what it believes of the table, and until that is analysed it reads
// all items of the order. What another transaction ends meanwhile is judged again behind its lock; what is locked stays in its place.
const ending = statement(
  `update order_item
      set (status, failure_code, failure_message) = (select ($3::text[])[at], ($4::text[])[at], ($5::text[])[at]
             from array_position($2::uuid[], order_item.cert_request_id) as at)
    where status = 'RUNNING' and ctid = any(array(
      select item.place from (select unnest($2::uuid[]) as id order by id) as ended cross join lateral (
        select ctid as place from order_item
         where order_id is not distinct from $1 and cert_request_id = ended.id and status = 'RUNNING' for update) as item))`,
)

/** So many ends in one statement, which looks through them for each. */
const endedAtOnce = 250

/** Ends running items of an order; items that ended before stay as they are. */
export const endItems = async (em: EntityManager, orderId: string, all: readonly ItemEnd[]): Promise<void> => {
  for (let start = 0; start < all.length; start += endedAtOnce) {
    const ends = all.slice(start, start + endedAtOnce)
    await ending.all(em, [
      orderId,
      ends.map(({ certRequestId }) => certRequestId),
      ends.map(({ status }) => status),
      ends.map(({ failure }) => failure?.apiError ?? null),
      ends.map(({ failure }) => failure?.errorMessage ?? null),
    ])
  }
}

const locking = statement(
  `with locked as (select id from cert_request
      where id in (select cert_request_id from order_item where order_id = $1 and status = 'RUNNING') order by id for update)
   select count(*) from locked`,
)

/** Locks the requests of the items that still run, in the order of their ids: whoever ends an item has its request. */
export const lockRunning = async (em: EntityManager, orderId: string): Promise<void> =>
  void (await locking.all(em, [orderId]))

/** Cancels the running order item of a declined or archived request, and frees the request. */
export const cancelItem = async (em: EntityManager, request: CertRequest): Promise<void> => {
  const { orderId } = request
  if (!orderId) return
  await endItems(em, orderId, [{ certRequestId: request.id, status: 'CANCELED' }])
  request.runId = null
  request.runSince = null
  record(em, {
    type: 'ORDER_CANCELED',
    objectId: request.id,
    realmId: request.realmId,
    what: `Order ${orderId} canceled for the certificate request of ${request.label}`,
  })
}

/** The items of an order that still run and may be issued now, by position. */
export const readyItems = async (
  em: EntityManager,
  orderId: string,
  range: { from: number; to: number } | { certRequestIds: readonly string[] },
): Promise<string[]> => {
  const within =
    'from' in range
      ? { sql: 'i.position between ? and ?', values: [range.from, range.to] }
      : { sql: 'i.cert_request_id = any(?::uuid[])', values: [`{${range.certRequestIds.join(',')}}`] }
  const rows = await em.execute<{ id: string }[]>(
    `select i.cert_request_id as id from order_item i join cert_request r on r.id = i.cert_request_id
      where i.order_id = ? and ${within.sql} and i.status = 'RUNNING' and r.cert_request_status in ('APPROVED', 'ISSUED')
      order by i.position`,
    [orderId, ...within.values],
  )
  return rows.map(({ id }) => id)
}

/** How many items of an order are in each state; a state without items has no entry. */
export const countItems = async (em: EntityManager, orderId: string): Promise<ReadonlyMap<OrderStatus, number>> => {
  const rows = await em.execute<{ status: OrderStatus; count: string }[]>(
    'select status, count(*) as count from order_item where order_id = ? group by status',
    [orderId],
  )
  return new Map(rows.map(({ status, count }) => [status, Number(count)]))
}

/** How many items of an order still run, all in all or between two positions. */
export const countRunning = (
  em: EntityManager,
  orderId: string,
  range?: { from: number; to: number },
): Promise<number> =>
  em.count(OrderItem, {
    orderId,
    status: 'RUNNING',
    ...(range ? { position: { $gte: range.from, $lte: range.to } } : {}),
  })
