// How an order stands, read from the records (contract 6.5 OrderStatusDto, OrderItemDto).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OrderStatus } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import type { Place } from '../../../domain/permissions.ts'
import type { PageRequest } from '../../../domain/search.ts'
import { findOrderItems } from '../../../storage/lists/order-items.ts'
import { countItems } from '../../../storage/order-items.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { CertificateOrder, OrderItem } from '../../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { zipOf } from './artifacts.ts'
import type { Caller } from '../../kernel/caller.ts'

const zipAtMost = 1000

/** An order of one request hangs where the request does. */
const placeOf = async (em: EntityManager, { id, multiple, createdBy: creatorId }: CertificateOrder): Promise<Place> => {
  const item = multiple ? null : await em.findOne(OrderItem, { orderId: id })
  const request = item && (await em.findOne(CertRequest, item.certRequestId))
  return { ...request?.place, creatorId }
}

/** The order with this id; ORDER_NOT_FOUND, or ACCESS_DENIED for another's. */
export const findOrder = async (em: EntityManager, caller: Caller, id: string): Promise<CertificateOrder> => {
  const order = await em.findOne(CertificateOrder, id)
  if (!order) throw new Failure('ORDER_NOT_FOUND')
  await caller.must('READ_ORDER', await placeOf(em, order))
  return order
}

const failureOf = ({ failureCode, failureMessage }: Pick<OrderItem, 'failureCode' | 'failureMessage'>) =>
  failureCode ? { apiError: failureCode, errorMessage: failureMessage ?? '' } : null

const totalsOf = (counts: ReadonlyMap<OrderStatus, number>) => {
  const of = (status: OrderStatus): number => counts.get(status) ?? 0
  return {
    total: [...counts.values()].reduce((sum, count) => sum + count, 0),
    issued: of('COMPLETED'),
    failed: of('FAILED') + of('CANCELED'),
    waiting: of('RUNNING'),
  }
}

const single = async (em: EntityManager, { id, multiple }: CertificateOrder) => {
  const item = multiple ? null : await em.findOne(OrderItem, { orderId: id })
  const request = item && (await em.findOne(CertRequest, item.certRequestId))
  return {
    certRequestId: request?.id ?? null,
    certificateId: (item?.status === 'COMPLETED' ? request?.certificateId : null) ?? null,
    certRequestStatus: request?.certRequestStatus ?? null,
    failure: item ? failureOf(item) : null,
  }
}

const zipped = async (
  em: EntityManager,
  { id, multiple, omitArtifacts, closedDate }: CertificateOrder,
  total: number,
) => {
  if (!multiple || omitArtifacts || !closedDate || total > zipAtMost) return null
  const issued = await em.find(OrderItem, { orderId: id, status: 'COMPLETED' }, { orderBy: { position: 'asc' } })
  const certificates = await em.find(Certificate, { certRequestId: { $in: issued.map(item => item.certRequestId) } })
  return zipOf(em, certificates, `${id}.zip`)
}

/** OrderStatusDto of an order. */
export const statusOf = async (em: EntityManager, order: CertificateOrder) => {
  const counts = totalsOf(await countItems(em, order.id))
  return {
    orderId: order.id,
    status: order.status,
    ...(await single(em, order)),
    ...counts,
    startedDate: order.startedDate,
    closedDate: order.closedDate ?? null,
    zippedFile: await zipped(em, order, counts.total),
  }
}

/** One page of the items of an order. */
export const itemsOf = async (em: EntityManager, { id }: CertificateOrder, page: PageRequest) => {
  const items = await findOrderItems(em, id, page)
  return { ...items, content: items.content.map(item => ({ ...item, failure: failureOf(item) })) }
}
