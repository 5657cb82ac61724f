// The rows of audit events, and the function that records one (contract 11.1).
import { defineEntity, p, type EntityManager } from '@mikro-orm/postgresql'
import { AuditEventType } from '../../domain/audit.ts'
import { SecurityIdentityType, valuesOf } from '../../domain/enums.ts'
import { actor } from './stamp.ts'
import { none } from './columns.ts'

const schema = defineEntity({
  name: 'AuditEvent',
  tableName: 'audit_event',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    objectId: p.uuid().index(),
    realmId: p.uuid().nullable().onCreate(none),
    certificateId: p.uuid().nullable().onCreate(none),
    eventType: p.enum(valuesOf(AuditEventType)).$type<AuditEventType>(),
    eventDescription: p.text(),
    principalId: p.uuid().nullable().onCreate(none),
    principalType: p.enum(valuesOf(SecurityIdentityType)).$type<SecurityIdentityType>(),
    occurredDate: p.datetime(3).onCreate(() => new Date()),
  },
  indexes: [
    { name: 'audit_event_realm', expression: 'create index audit_event_realm on audit_event (realm_id, id desc)' },
  ],
})

/** One recorded fact: written in the transaction of its cause, never changed, and kept when its object is deleted. */
export class AuditEvent extends schema.class {}
schema.setClass(AuditEvent)

/** What an event is about; the author is the actor of the EntityManager. */
export interface Fact {
  readonly type: AuditEventType
  readonly objectId: string
  readonly realmId?: string | null
  readonly certificateId?: string | null
  /** What happened, without the author: "Realm Demo created". */
  readonly what: string
}

/** Records a fact in the running transaction, its sentence ending with who did it. */
export const record = (em: EntityManager, { type, objectId, realmId, certificateId, what }: Fact): AuditEvent => {
  const principal = actor(em)
  return em.create(AuditEvent, {
    eventType: type,
    objectId,
    realmId: realmId ?? null,
    certificateId: certificateId ?? null,
    eventDescription: `${what} by ${principal.name}`,
    principalId: principal.id,
    principalType: principal.type,
  })
}
