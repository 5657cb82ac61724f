// Asynchronous orders and their items (contract 4.2).
import { defineEntity, p } from '@mikro-orm/postgresql'
import { OrderStatus, valuesOf } from '../../domain/enums.ts'
import type { ApiError } from '../../domain/failure.ts'
import { CertRequest } from './cert-request.ts'
import { creationDate, none } from './columns.ts'

const order = defineEntity({
  name: 'CertificateOrder',
  tableName: 'certificate_order',
  properties: {
    /** The id of its workflow as well (contract 4.2). */
    id: p.string().length(100).primary(),
    createdBy: p.uuid(),
    multiple: p.boolean(),
    omitArtifacts: p.boolean(),
    status: p.enum(valuesOf(OrderStatus)).$type<OrderStatus>(),
    startedDate: creationDate(),
    closedDate: p.datetime(3).nullable().onCreate(none),
  },
  indexes: [
    {
      name: 'certificate_order_running',
      expression: `create index certificate_order_running on certificate_order (started_date) where status = 'RUNNING'`,
    },
  ],
})

/** An asynchronous order of one or many certificates. */
export class CertificateOrder extends order.class {}
order.setClass(CertificateOrder)

const item = defineEntity({
  name: 'OrderItem',
  tableName: 'order_item',
  properties: {
    certRequestId: () =>
      p.manyToOne(CertRequest).mapToPk().fieldName('cert_request_id').primary().deleteRule('cascade'),
    orderId: () => p.manyToOne(CertificateOrder).mapToPk().fieldName('order_id').primary().deleteRule('cascade'),
    position: p.integer(),
    status: p.enum(valuesOf(OrderStatus)).$type<OrderStatus>(),
    failureCode: p.string().length(64).$type<ApiError>().nullable().onCreate(none),
    failureMessage: p.text().nullable().onCreate(none),
  },
  indexes: [{ name: 'order_item_place', properties: ['orderId', 'position'] }],
})

/** One certificate request of an order, and what became of it. */
export class OrderItem extends item.class {}
item.setClass(OrderItem)
