// The items of an order as a list (contract 6.5 OrderItemDto).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequestStatus, OrderStatus } from '../../domain/enums.ts'
import type { ApiError } from '../../domain/failure.ts'
import { pageOf, type Page, type PageRequest, type Sort } from '../../domain/search.ts'
import { countItems } from '../order-items.ts'

/** One item of an order with what its certificate request says. */
export interface ListedItem {
  readonly certRequestId: string
  readonly status: OrderStatus
  readonly certRequestStatus: CertRequestStatus
  readonly certificateId: string | null
  readonly failureCode: ApiError | null
  readonly failureMessage: string | null
}

/** What a list can be sorted by; the audit columns of an item are those of its order. */
const columns: Readonly<Record<string, string>> = {
  certRequestId: 'i.cert_request_id',
  status: 'i.status',
  certRequestStatus: 'r.cert_request_status',
  certificateId: `case when i.status = 'COMPLETED' then r.certificate_id end`,
  createdDate: 'o.started_date',
  createdBy: 'o.created_by',
  lastModifiedDate: 'coalesce(o.closed_date, o.started_date)',
}

const selected = `i.cert_request_id as "certRequestId", i.status, r.cert_request_status as "certRequestStatus",
  ${columns['certificateId']} as "certificateId", i.failure_code as "failureCode", i.failure_message as "failureMessage"`

const orderOf = ({ property, descending }: Sort): string => {
  if (!Object.hasOwn(columns, property)) throw new Error(`Items of orders cannot be sorted by ${property}.`)
  return `${columns[property]} ${descending ? 'desc' : 'asc'} nulls last`
}

/** One page of the items of an order; unless sorted otherwise, in the order of the list that was ordered. */
export const findOrderItems = async (
  em: EntityManager,
  orderId: string,
  page: PageRequest,
): Promise<Page<ListedItem>> => {
  const rows = await em.execute<ListedItem[]>(
    `select ${selected} from order_item i
       join certificate_order o on o.id = i.order_id
       join cert_request r on r.id = i.cert_request_id
      where i.order_id = ? order by ${[...page.sort.map(orderOf), 'i.position'].join(', ')} limit ? offset ?`,
    [orderId, page.size, page.page * page.size],
  )
  const counts = await countItems(em, orderId)
  return pageOf(
    rows,
    [...counts.values()].reduce((sum, count) => sum + count, 0),
    page,
  )
}
