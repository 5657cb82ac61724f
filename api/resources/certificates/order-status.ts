// How an order stands, read from the records (contract 6.5 OrderStatusDto, OrderItemDto).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OrderStatus } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import type { Place } from '../../../domain/permissions.ts'
import { pageOf, type PageRequest } from '../../../domain/search.ts'
import { Certificate } from '../../../storage/rows/certificate.ts'
import { CertificateOrder, OrderItem } from '../../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { countItems, findItemIds } from '../../../storage/order-items.ts'
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

const failureOf = ({ failureCode, failureMessage }: OrderItem) =>
  failureCode ? { apiError: failureCode, errorMessage: failureMessage ?? '' } : null

const countsOf = async (em: EntityManager, orderId: string) => {
  const counts = await countItems(em, orderId)
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
  const counts = await countsOf(em, order.id)
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

/** One page of the items of an order; unless sorted otherwise, in the order of the list that was ordered. */
export const itemsOf = async (em: EntityManager, { id }: CertificateOrder, page: PageRequest) => {
  const ids = await findItemIds(em, id, page)
  const total = await em.count(OrderItem, { orderId: id })
  const rows = await em.find(OrderItem, { orderId: id, certRequestId: { $in: ids } })
  const items = rows.toSorted((one, other) => ids.indexOf(one.certRequestId) - ids.indexOf(other.certRequestId))
  const requests = await em.find(CertRequest, { id: { $in: ids } })
  const byId = new Map(requests.map(request => [request.id, request]))
  const content = items.map(item => {
    const request = byId.get(item.certRequestId)
    return {
      certRequestId: item.certRequestId,
      status: item.status,
      certRequestStatus: request?.certRequestStatus ?? 'APPROVED',
      certificateId: (item.status === 'COMPLETED' ? request?.certificateId : null) ?? null,
      failure: failureOf(item),
    }
  })
  return pageOf(content, total, page)
}
