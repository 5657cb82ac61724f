// Purges as they are asked for (contract 4.5): judged, and kept with what they are to delete, in one transaction. From then
// on what is named does not come back.
import type { EntityManager } from '@mikro-orm/postgresql'
import { EntitiesEnum } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { refuse, run, takeTurns } from './archiving.ts'
import { tables } from './archive-kinds.ts'
import { isTaken } from './faults.ts'
import { purgeRefusals } from './purge-kinds.ts'
import { Purge } from './rows/purge.ts'
import { actor } from './rows/stamp.ts'

/** A purge that is asked for; the author is the actor of the EntityManager. */
export interface NewPurge {
  /** The id of its run as well. */
  readonly id: string
  readonly kind: EntitiesEnum
  readonly now: Date
}

const busy = (kind: EntitiesEnum): Failure =>
  new Failure('INVALID_STATE', `A purge of this kind (${EntitiesEnum[kind].toLowerCase()}) is running.`)

/** Fails while another purge of the kind runs. */
const insert = async (
  em: EntityManager,
  { id, kind, now }: NewPurge,
  more: { readonly total: number; readonly until?: Date },
): Promise<void> => {
  const { id: createdBy, type: createdByType } = actor(em)
  try {
    await em.insert(Purge, { id, kind, createdBy, createdByType, startedDate: now, until: null, ...more })
  } catch (error) {
    throw isTaken(error) ? busy(kind) : error
  }
}

const locking = (kind: EntitiesEnum): string =>
  `with locked as (select id, archived from ${tables[kind]} where id = any($1::uuid[]) order by id for update)
   select id from locked`

/** Locks resources of a kind in the order of those that archive them; answers those that are there. */
export const lockResources = (em: EntityManager, kind: EntitiesEnum, ids: readonly string[]): Promise<string[]> =>
  run(em, locking(kind), [ids])

/** The same; answers those that are archived. */
export const lockArchived = (em: EntityManager, kind: EntitiesEnum, ids: readonly string[]): Promise<string[]> =>
  run(em, `${locking(kind)} where archived`, [ids])

/** Those of the resources that cannot be deleted, and why. */
export const refusedAmong = async (
  em: EntityManager,
  kind: EntitiesEnum,
  { ids, now }: { readonly ids: readonly string[]; readonly now: Date },
) => {
  const refused = new Map<string, (typeof purgeRefusals)[EntitiesEnum][number]['code']>()
  for (const { code, sql, now: isAsked } of purgeRefusals[kind])
    for (const id of await run(em, sql, isAsked ? [ids, now] : [ids])) refused.set(id, refused.get(id) ?? code)
  return refused
}

const mustBeDeletable = async (em: EntityManager, { kind, now }: NewPurge, ids: readonly string[]): Promise<void> => {
  await takeTurns(em, { kind, ids })
  const there = new Set(await lockResources(em, kind, ids))
  const missing = ids.find(id => !there.has(id))
  if (missing !== undefined) refuse(`${kind}_NOT_FOUND`, kind, missing)
  const archived = new Set(await lockArchived(em, kind, ids))
  const living = ids.find(id => !archived.has(id))
  if (living !== undefined) refuse('ENTITY_NOT_ARCHIVED', kind, living)
  const [first] = await refusedAmong(em, kind, { ids, now })
  if (first) refuse(first[1], kind, first[0])
}

const marking = `insert into purge_item (resource_id, purge_id) select id, $2 from unnest($1::uuid[]) as id
  on conflict do nothing`

/** Marks resources that are locked as what a purge deletes. */
export const mark = async (em: EntityManager, purgeId: string, ids: readonly string[]): Promise<void> => {
  await run(em, marking, [ids, purgeId])
}

/** Keeps a purge of these resources, all of them or, where one is refused, none. */
export const placePurge = (em: EntityManager, purge: NewPurge, ids: readonly string[]): Promise<void> =>
  em.transactional(async tx => {
    await mustBeDeletable(tx, purge, ids)
    await insert(tx, purge, { total: ids.length })
    await mark(tx, purge.id, ids)
  })

/** What was archived by `$1`, as a purge counts and finds it. */
export const archivedBy = 'archived and archived_date <= $1::timestamptz'

/** Keeps a purge of all that was archived by then. */
export const placePurgeUntil = (em: EntityManager, purge: NewPurge, until: Date): Promise<void> =>
  em.transactional(async tx => {
    const sql = `select count(*)::text as id from ${tables[purge.kind]} where ${archivedBy}`
    const [count = '0'] = await run(tx, sql, [until])
    await insert(tx, purge, { total: Number(count), until })
  })

/** A purge that is not closed. */
export interface OpenPurge {
  readonly id: string
  readonly kind: EntitiesEnum
}

/** The purges that are not closed. */
export const openPurges = (em: EntityManager, before: Date): Promise<OpenPurge[]> =>
  em.find(Purge, { closedDate: null, startedDate: { $lt: before } }, { fields: ['kind'], disableIdentityMap: true })
