// Writing audit events (contract 11.1): each in the transaction of what it records.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AuditEventType } from '../domain/audit.ts'
import type { Principal } from '../domain/principal.ts'
import { insertRows, insertSome } from './insert-rows.ts'
import { AuditEvent } from './rows/audit-event.ts'
import { actor } from './rows/stamp.ts'

/** What an event is about. */
export interface Fact {
  readonly type: AuditEventType
  readonly objectId: string
  readonly realmId?: string | null
  readonly certificateId?: string | null
  /** What happened, without the author: "Realm Demo created". */
  readonly what: string
}

/** The members of the event that records a fact, but for its date. */
export const eventOf = ({ type, objectId, realmId, certificateId, what }: Fact, author: Principal) => ({
  eventType: type,
  objectId,
  realmId: realmId ?? null,
  certificateId: certificateId ?? null,
  eventDescription: `${what} by ${author.name}`,
  principalId: author.id,
  principalType: author.type,
})

/** Records a fact at the next flush, its sentence ending with the actor of the EntityManager. */
export const record = (em: EntityManager, fact: Fact): AuditEvent => em.create(AuditEvent, eventOf(fact, actor(em)))

/** The rows of facts that are recorded without a flush. */
export const auditRows = (
  facts: readonly Fact[],
  { now, author }: { readonly now: Date; readonly author: Principal },
) => facts.map(fact => ({ ...eventOf(fact, author), occurredDate: now }))

/** Records many facts at once without a flush; their author is the actor of the EntityManager unless one is stated. */
export const recordMany = (
  em: EntityManager,
  facts: readonly Fact[],
  { now, author = actor(em) }: { readonly now: Date; readonly author?: Principal },
): Promise<void> => insertRows(em, AuditEvent, auditRows(facts, { now, author }))

const nothing: Fact = { type: 'PASSWORD_REJECTED', objectId: '', what: '' }

/** As recordMany for a few facts, and the statement is the same where there are none: nobody can tell by the time. */
export const recordEvenly = (em: EntityManager, facts: readonly Fact[], now: Date): Promise<void> => {
  const rowOf = (fact: Fact) => ({ ...eventOf(fact, actor(em)), occurredDate: now })
  return insertSome(em, AuditEvent, { rows: facts.map(rowOf), members: Object.keys(rowOf(nothing)) })
}
