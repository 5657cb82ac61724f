// Placing asynchronous orders (contract 4.2): the order, its items and its audit events in one transaction.
import type { EntityManager } from '@mikro-orm/postgresql'
import { recordMany } from './audit.ts'
import { claimRequests } from './claims.ts'
import { insertRows } from './insert-rows.ts'
import { CertificateOrder, OrderItem } from './rows/certificate-order.ts'
import type { CertRequest } from './rows/cert-request.ts'

/** A request of an order. */
type OrderedRequest = Pick<CertRequest, 'id' | 'realmId' | 'label'>

/** An order as it is placed; its id is that of its run. */
export interface NewOrder {
  readonly id: string
  readonly createdBy: string
  readonly multiple: boolean
  readonly omitArtifacts: boolean
  readonly requests: readonly OrderedRequest[]
  readonly now: Date
}

const orderable = ['APPROVED', 'PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION'] as const

const itemsOf = (orderId: string, requests: readonly OrderedRequest[]) =>
  requests.map(({ id }, position) => ({ orderId, certRequestId: id, position, status: 'RUNNING' as const }))

const factsOf = (requests: readonly OrderedRequest[]) =>
  requests.map(({ id: objectId, realmId, label }) => ({
    type: 'CERTIFICATE_ORDERED' as const,
    objectId,
    realmId,
    what: `Certificate of ${label} ordered`,
  }))

/** Makes the rows of an order and answers the requests that it has; those that another run took meanwhile are left out. */
export const placeOrder = (em: EntityManager, { requests, now, ...order }: NewOrder): Promise<ReadonlySet<string>> =>
  em.transactional(async tx => {
    const ids = requests.map(({ id }) => id)
    const taken = await claimRequests(tx, order.id, { ids, states: orderable, now })
    const mine = requests.filter(({ id }) => taken.has(id))
    if (mine.length === 0) return taken
    tx.create(CertificateOrder, { ...order, status: 'RUNNING', startedDate: now })
    await tx.flush()
    await insertRows(tx, OrderItem, itemsOf(order.id, mine))
    await recordMany(tx, factsOf(mine), { now })
    return taken
  })
