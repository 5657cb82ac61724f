// Revocations that were asked for, and what became of each certificate (contract 4.3).
import { defineEntity, p } from '@mikro-orm/postgresql'
import { OrderStatus, RevocationReason, SecurityIdentityType, valuesOf } from '../../domain/enums.ts'
import type { ApiError } from '../../domain/failure.ts'
import { Certificate } from './certificate.ts'
import { creationDate, none } from './columns.ts'

const revocation = defineEntity({
  name: 'Revocation',
  tableName: 'revocation',
  properties: {
    /** The id of its workflow as well. */
    id: p.string().length(100).primary(),
    /** Who asked; what that principal may is judged again when the revocation is recorded. */
    createdBy: p.uuid().nullable().onCreate(none),
    createdByType: p.enum(valuesOf(SecurityIdentityType)).$type<SecurityIdentityType>(),
    reason: p.enum(valuesOf(RevocationReason)).$type<RevocationReason>(),
    startedDate: creationDate(),
    closedDate: p.datetime(3).nullable().onCreate(none),
  },
  indexes: [
    {
      name: 'revocation_open',
      expression: 'create index revocation_open on revocation (started_date) where closed_date is null',
    },
  ],
})

/** One call that revokes, holds or releases certificates. */
export class Revocation extends revocation.class {}
revocation.setClass(Revocation)

const item = defineEntity({
  name: 'RevocationItem',
  tableName: 'revocation_item',
  properties: {
    revocationId: () => p.manyToOne(Revocation).mapToPk().fieldName('revocation_id').primary().deleteRule('cascade'),
    certificateId: () => p.manyToOne(Certificate).mapToPk().fieldName('certificate_id').primary().deleteRule('cascade'),
    position: p.integer(),
    status: p.enum(valuesOf(OrderStatus)).$type<OrderStatus>(),
    failureCode: p.string().length(64).$type<ApiError>().nullable().onCreate(none),
    failureMessage: p.text().nullable().onCreate(none),
  },
  indexes: [{ name: 'revocation_item_certificate', properties: ['certificateId'] }],
})

/** One certificate of a revocation, and what became of it. */
export class RevocationItem extends item.class {}
item.setClass(RevocationItem)
