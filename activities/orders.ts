// The records of orders: begin, close.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OrderStatus } from '../domain/enums.ts'
import { apiErrors } from '../domain/failure.ts'
import type { OrderedRequest } from '../domain/order-story.ts'
import { record } from '../storage/audit.ts'
import { CertRequest } from '../storage/rows/cert-request.ts'
import { CertificateOrder, OrderItem } from '../storage/rows/certificate-order.ts'
import { findLocked } from '../storage/lock.ts'
import { countItems, endItems, lockRunning } from '../storage/order-items.ts'
import { countPlaced } from '../storage/positions.ts'
import { orderStory } from '../storage/order-story.ts'
import type { Services } from './services.ts'

interface OrderInput {
  readonly orderId: string
}

/** What an order has to do, and until when. */
export interface OrderPlan {
  readonly itemCount: number
  /** ISO 8601, UTC. */
  readonly expiresAt: string
}

/** How an order ended. */
export interface ClosedOrder {
  readonly status: OrderStatus
  /** What became of each request of a small order that waited. */
  readonly story?: OrderedRequest[] | undefined
}

const dayMs = 24 * 60 * 60 * 1000

const expire = async (em: EntityManager, orderId: string): Promise<void> => {
  const left = await em.find(OrderItem, { orderId, status: 'RUNNING' })
  const failure = { apiError: 'ORDER_EXPIRED', errorMessage: apiErrors.ORDER_EXPIRED.description } as const
  await endItems(
    em,
    orderId,
    left.map(({ certRequestId }) => ({ certRequestId, status: 'FAILED', failure })),
  )
  const requests = await em.find(CertRequest, { id: { $in: left.map(item => item.certRequestId) } })
  for (const request of requests)
    record(em, {
      type: 'ORDER_FAILED',
      objectId: request.id,
      realmId: request.realmId,
      what: `Order ${orderId} expired for the certificate request of ${request.label}, ended`,
    })
}

const outcomeOf = async (em: EntityManager, orderId: string): Promise<OrderStatus> => {
  const counts = await countItems(em, orderId)
  if (counts.has('COMPLETED')) return 'COMPLETED'
  return counts.has('FAILED') ? 'FAILED' : 'CANCELED'
}

const close = async (em: EntityManager, orderId: string, now: Date): Promise<{ status: OrderStatus }> => {
  // Requests come before what they hang on, as for those who decide on one or purge it.
  await lockRunning(em, orderId)
  // Locked: a purge that deletes its last items at the same time sees it closed, or is seen.
  const order = await findLocked(em, CertificateOrder, orderId)
  // Its requests were deleted, and it with the last of them.
  if (!order) return { status: 'CANCELED' }
  if (order.closedDate) return { status: order.status }
  await expire(em, orderId)
  await em.nativeUpdate(CertRequest, { runId: orderId }, { runId: null, runSince: null })
  if ((await em.count(OrderItem, { orderId })) === 0) {
    em.remove(order)
    return { status: 'CANCELED' }
  }
  order.status = await outcomeOf(em, orderId)
  order.closedDate = now
  return { status: order.status }
}

export const orderActivities = ({ orm, settings, clock }: Services) => ({
  /** Idempotency: reads only. */
  beginOrder: async ({ orderId }: OrderInput): Promise<OrderPlan> => {
    const em = orm.em.fork()
    const order = await em.findOneOrFail(CertificateOrder, orderId)
    const days = await settings.integer('order.max-wait-days')
    return {
      itemCount: await countPlaced(em, orderId),
      expiresAt: new Date(order.startedDate.getTime() + days * dayMs).toISOString(),
    }
  },
  /** Idempotency key: the order; a closed one stays as it is. Of one that `waited` it tells the story. */
  closeOrder: async ({ orderId, waited = false }: OrderInput & { waited?: boolean }): Promise<ClosedOrder> => {
    const { status } = await orm.em.fork().transactional(em => close(em, orderId, clock()))
    return waited ? { status, story: await orderStory(orm.em.fork(), orderId) } : { status }
  },
})
