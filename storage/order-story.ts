// The requests of a small order on their way, as its run tells operators.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequestStatus, OrderStatus, SecurityIdentityType } from '../domain/enums.ts'
import type { ApiError } from '../domain/failure.ts'
import type { UserResponse } from '../domain/lifecycle.ts'
import { mostTold, type OrderedRequest } from '../domain/order-story.ts'
import { statement } from './statement.ts'

interface Row {
  readonly id: string
  readonly requestedDate: string
  readonly requestedBy: string | null
  readonly requestedByType: SecurityIdentityType
  readonly verifiedDate: string | null
  readonly requiresManualApproval: boolean
  readonly dualControl: boolean
  readonly responses: readonly UserResponse[]
  readonly status: CertRequestStatus
  readonly item: OrderStatus
  readonly failure: ApiError | null
  readonly certificateId: string | null
  readonly issuedDate: string | null
}

const reading = statement<Row>(
  `select r.id, r.created_date as "requestedDate", r.created_by as "requestedBy", r.created_by_type as "requestedByType",
     r.email_verified_date as "verifiedDate", r.requires_manual_approval as "requiresManualApproval",
     r.dual_control as "dualControl", r.user_responses as responses, r.cert_request_status as status, i.status as item,
     i.failure_code as failure, c.id as "certificateId", c.created_date as "issuedDate"
    from order_item i join cert_request r on r.id = i.cert_request_id left join certificate c on c.id = r.certificate_id
   where i.order_id = $1 order by i.position limit ${mostTold + 1}`,
)

/** ISO 8601 of a date as PostgreSQL writes it. */
const iso = (date: string): string => new Date(date).toISOString()

const orderedRequest = (row: Row): OrderedRequest => ({
  certRequestId: row.id,
  requestedDate: iso(row.requestedDate),
  requestedBy: { type: row.requestedByType, id: row.requestedBy },
  verifiedDate: row.verifiedDate && iso(row.verifiedDate),
  requiresManualApproval: row.requiresManualApproval,
  dualControl: row.dualControl,
  decisions: row.responses.map(({ userId, userType, action, responseDate }) => ({
    date: responseDate,
    by: { type: userType, id: userId },
    action,
  })),
  status: row.status,
  item: row.item,
  failure: row.failure,
  certificateId: row.certificateId,
  issuedDate: row.issuedDate && iso(row.issuedDate),
})

/** What became of each request of an order so far, by position; undefined where there are too many to be told. */
export const orderStory = async (em: EntityManager, orderId: string): Promise<OrderedRequest[] | undefined> => {
  const rows = await reading.all(em, [orderId])
  return rows.length > mostTold ? undefined : rows.map(orderedRequest)
}
