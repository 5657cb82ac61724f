// The rows of the audit log (contract 11.1); `audit.ts` writes them.
import { defineEntity, p } from '@mikro-orm/postgresql'
import { AuditEventType } from '../../domain/audit.ts'
import { SecurityIdentityType, valuesOf } from '../../domain/enums.ts'
import { creationDate, none } from './columns.ts'

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
    occurredDate: creationDate(),
  },
  indexes: [
    { name: 'audit_event_realm', expression: 'create index audit_event_realm on audit_event (realm_id, id desc)' },
    {
      name: 'audit_event_certificate',
      expression:
        'create index audit_event_certificate on audit_event (certificate_id, id desc) where certificate_id is not null',
    },
  ],
})

/** One recorded fact: written in the transaction of its cause, never changed, and kept when its object is deleted. */
export class AuditEvent extends schema.class {}
schema.setClass(AuditEvent)
