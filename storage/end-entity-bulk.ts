// Many end entities at once (contract 12.2): a few statements for thousands of rows.
import type { EntityManager } from '@mikro-orm/postgresql'
import { nameOf, type EndEntityFields } from '../domain/end-entity-rules.ts'
import { recordMany, type Fact } from './audit.ts'
import { EndEntity } from './rows/end-entity.ts'
import { grantCreator } from './grant.ts'
import { insertNew } from './insert-rows.ts'
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

// Two uploads that share external ids store them in one order, so that they cannot deadlock.
const byExternalId = (one: EndEntityFields, other: EndEntityFields): number => {
  const [a, b] = [one.externalId ?? '', other.externalId ?? '']
  return a === b ? 0 : a < b ? -1 : 1
}

interface Creation {
  readonly realmId: string
  readonly now: Date
}

const factOf = ({ id, ...fields }: EndEntityFields & { readonly id: string }, realmId: string): Fact => ({
  type: 'ENTITY_CREATED',
  objectId: id,
  realmId,
  what: `End entity ${nameOf(fields)} created`,
})

/**
 * Stores end entities in the running transaction, grants them to their creator and records them. Answers each
 * as it is read from now on, or null where a living end entity of the realm has its external id.
 */
export const createEndEntities = async (
  em: EntityManager,
  all: readonly EndEntityFields[],
  { realmId, now }: Creation,
) => {
  const stamp = stampOf(em, now)
  const rows = all.map(fields => ({ id: crypto.randomUUID(), ...stamp, realmId, ...fields }))
  const stored = await insertNew(em, EndEntity, rows.toSorted(byExternalId))
  const made = rows.filter(({ id }) => stored.has(id))
  const resourceIds = made.map(({ id }) => id)
  await grantCreator(em, actor(em).id, { scope: 'END_ENTITY', resourceIds })
  await recordMany(
    em,
    made.map(row => factOf(row, realmId)),
    { now },
  )
  const state = { alias: null, userId: null, archiveInfo: archiveInfoOf({ archived: false }) }
  const metadata = metadataOf({ ...stamp, version: 1 })
  return rows.map(row => (stored.has(row.id) ? { ...row, ...state, metadata } : null))
}
