// Many end entities at once (contract 12.2): a few statements for thousands of rows.
import type { EntityManager } from '@mikro-orm/postgresql'
import { nameOf, type EndEntityFields } from '../domain/end-entity-rules.ts'
import { AuditEvent } from './rows/audit-event.ts'
import { EndEntity } from './rows/end-entity.ts'
import { grant } from './grant.ts'
import { insertNew, insertRows } from './insert-rows.ts'
import { archiveInfoOf, metadataOf } from './rows/columns.ts'
import { actor, stampOf } from './rows/stamp.ts'

/** Those of the external ids that a living end entity of the realm has. */
export const takenExternalIds = async (
  em: EntityManager,
  realmId: string,
  externalIds: readonly string[],
): Promise<ReadonlySet<string>> => {
  const rows = await em.execute<{ external_id: string }[]>(
    `select ee.external_id from jsonb_array_elements_text(?::jsonb) as wanted(id)
       join end_entity ee on ee.realm_id = ? and ee.external_id = wanted.id
      where not ee.archived`,
    [JSON.stringify(externalIds), realmId],
  )
  return new Set(rows.map(row => row.external_id))
}

// Two uploads that share external ids store them in one order, so that none of them waits for the other in a ring.
const byExternalId = (one: EndEntityFields, other: EndEntityFields): number => {
  const [a, b] = [one.externalId ?? '', other.externalId ?? '']
  return a === b ? 0 : a < b ? -1 : 1
}

interface Creation {
  readonly realmId: string
  readonly now: Date
}

const recordAll = (
  em: EntityManager,
  made: readonly (EndEntityFields & { readonly id: string })[],
  { realmId, now }: Creation,
): Promise<void> => {
  const { id, type, name } = actor(em)
  const rest = { realmId, principalId: id, principalType: type, occurredDate: now }
  const rows = made.map(endEntity => ({
    eventType: 'ENTITY_CREATED',
    objectId: endEntity.id,
    eventDescription: `End entity ${nameOf(endEntity)} created by ${name}`,
    ...rest,
  }))
  return insertRows(em, AuditEvent, rows)
}

/**
 * Stores end entities in the running transaction, gives their maker what contract 7.2 says and records them. Answers each
 * as it is read from now on, or null where a living end entity of the realm has its external id.
 */
export const createEndEntities = async (em: EntityManager, all: readonly EndEntityFields[], creation: Creation) => {
  const stamp = stampOf(em, creation.now)
  const rows = all.map(fields => ({ id: crypto.randomUUID(), ...stamp, realmId: creation.realmId, ...fields }))
  const stored = await insertNew(em, EndEntity, rows.toSorted(byExternalId))
  const made = rows.filter(({ id }) => stored.has(id))
  const resourceIds = made.map(({ id }) => id)
  await grant(em, actor(em).id, { scope: 'END_ENTITY', resourceIds, permissions: ['READ', 'UPDATE', 'DELETE'] })
  await recordAll(em, made, creation)
  const state = { alias: null, userId: null, archiveInfo: archiveInfoOf({ archived: false }) }
  const metadata = metadataOf({ ...stamp, version: 1 })
  return rows.map(row => (stored.has(row.id) ? { ...row, ...state, metadata } : null))
}
