// What a purge deletes next (contract 4.5): a part of bounded size in one transaction, with its events and the counts of the
// purge. What is deleted last is the resource itself; until then it is marked, so that it does not come back half.
import type { EntityManager } from '@mikro-orm/postgresql'
import { EntitiesEnum } from '../domain/enums.ts'
import { system, type Principal } from '../domain/principal.ts'
import { none, tables, type Link } from './archive-kinds.ts'
import { columnsOfEvents, recordEach, run, takeTurns } from './archiving.ts'
import { principalById } from './principal.ts'
import { goesBefore, isLeaf, partsBelow, requestsBelow, unlinked, type Unlinking } from './purge-kinds.ts'
import { deleteRequests, lockRequests } from './purged-requests.ts'
import { archivedBy, lockArchived, lockResources, mark, refusedAmong } from './purges.ts'
import { Purge } from './rows/purge.ts'
import { actAs, actor } from './rows/stamp.ts'
import { lockRow } from './lock.ts'

/** So many rows of a kind at most in one transaction. */
const atOnce = 500

/** What the next transaction of a purge works on. */
export interface PurgePart {
  /** Resources of its kind, marked. */
  readonly ids: readonly string[]
  /** The next requests below them. */
  readonly requestIds: readonly string[]
  /** Those that may have a run which waits for people. */
  readonly waitingIds: readonly string[]
}

/** How far a purge is. */
export interface PurgeProgress {
  readonly total: number
  readonly deleted: number
  readonly along: number
  readonly skipped: number
  readonly closed: boolean
}

const progressOf = ({ total, deleted, along, skipped, closedDate }: Purge): PurgeProgress => ({
  total,
  deleted,
  along,
  skipped,
  closed: Boolean(closedDate),
})

/** Less than the id of any resource: pages are read from one id on, by an index that begins there. */
const beforeAll = '00000000-0000-0000-0000-000000000000'

/** Marks the next resources that were archived in time. */
const findMore = async (em: EntityManager, purge: Purge): Promise<string[]> => {
  const { kind, until, afterId } = purge
  if (!until) return []
  const sql = `select id from ${tables[kind]} where ${archivedBy} and id > $2::uuid
    order by id limit ${atOnce}`
  const found = await run(em, sql, [until, afterId ?? beforeAll])
  if (found.length === 0) return []
  await takeTurns(em, { kind, ids: found })
  const ids = await lockArchived(em, kind, found)
  await mark(em, purge.id, ids)
  purge.afterId = found.at(-1) ?? null
  return ids.length > 0 ? ids : findMore(em, purge)
}

const marked = (em: EntityManager, purgeId: string): Promise<string[]> =>
  run(em, `select resource_id as id from purge_item where purge_id = $1 order by resource_id limit ${atOnce}`, [
    purgeId,
  ])

const openStatuses = `('PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION')`

/** The next part of a purge; null when nothing is left, and then it is closed. */
export const nextPart = (em: EntityManager, purgeId: string, now: Date): Promise<PurgePart | null> =>
  em.transactional(async tx => {
    const purge = await lockRow(tx, Purge, purgeId)
    if (purge.closedDate) return null
    const known = await marked(tx, purgeId)
    const ids = known.length > 0 ? known : await findMore(tx, purge)
    if (ids.length === 0) {
      purge.closedDate = now
      return null
    }
    const which = requestsBelow[purge.kind]
    if (which === null) return { ids, requestIds: [], waitingIds: [] }
    const requestIds = await run(tx, `select r.id from cert_request r where ${which} limit ${atOnce}`, [ids])
    const waiting = `select id from cert_request where id = any($1::uuid[]) and cert_request_status in ${openStatuses}`
    return { ids, requestIds, waitingIds: await run(tx, waiting, [requestIds]) }
  })

/** Who asked, as the events name it; the purge was accepted, so that it goes on whatever became of who asked. */
const askerOf = async (em: EntityManager, { createdBy, createdByType }: Purge): Promise<Principal> => {
  if (!createdBy) return system
  return (await principalById(em, createdBy)) ?? { id: createdBy, type: createdByType, name: createdBy }
}

interface Work {
  readonly em: EntityManager
  readonly purge: Purge
  readonly now: Date
}

/** Takes marks away, where the resources are gone or stay. */
const unmark = async (em: EntityManager, ids: readonly string[]): Promise<void> => {
  if (ids.length > 0) await run(em, 'delete from purge_item where resource_id = any($1::uuid[])', [ids])
}

/** Those that are still there, archived and not refused; the others are skipped, and may come back. */
const stillDeletable = async ({ em, purge, now }: Work, ids: readonly string[]): Promise<string[]> => {
  const archived = await lockArchived(em, purge.kind, ids)
  const refused = await refusedAmong(em, purge.kind, { ids: archived, now })
  const left = archived.filter(id => !refused.has(id))
  const kept = new Set(left)
  const skipped = ids.filter(id => !kept.has(id))
  purge.skipped += skipped.length
  await unmark(em, skipped)
  return left
}

/** Tells what loses its link, and that it did: each is a change of its own. */
const unlink = async ({ em, now }: Work, unlinking: Unlinking, ids: readonly string[]): Promise<void> => {
  const { table, label, realm, set, where } = unlinking
  const { id, type, name } = actor(em)
  const sql = `with changed as (
      update ${table} t set ${set}, version = version + 1, last_modified_date = $2, last_modified_by = $3::uuid,
             last_modified_by_type = $4
        where ${where} returning t.id, ${realm} as realm_id, ${label} as label)
    insert into audit_event ${columnsOfEvents}
    select id, realm_id, ${none}, 'ENTITY_UPDATED', label || $5, $3::uuid, $4, $2 from changed`
  await run(em, sql, [ids, now, id, type, ` updated by ${name}`])
}

/** Resources of one kind, and why they go, in the words of their events. */
interface Doomed {
  readonly kind: EntitiesEnum
  readonly ids: readonly string[]
  readonly what: string
}

const deleteRows = async (work: Work, { kind, ids, what }: Doomed): Promise<void> => {
  const { em, now } = work
  const unlinking = unlinked[kind]
  if (unlinking) await unlink(work, unlinking, ids)
  await recordEach(em, { ids, now }, { kind, which: 't.id = any($1::uuid[])', type: 'ENTITY_DELETED', what })
  await run(em, 'delete from permission_grant where resource_id = any($1::uuid[])', [ids])
  for (const sql of goesBefore[kind] ?? []) await run(em, sql, [ids])
  await run(em, `delete from ${tables[kind]} where id = any($1::uuid[])`, [ids])
}

const withKind = (kind: EntitiesEnum): string => `deleted with its ${EntitiesEnum[kind].toLowerCase()}`

/** Deletes some of what hangs below and is no request; answers how many. */
const deleteBelow = async (work: Work, { kind, column }: Link, ids: readonly string[]): Promise<number> => {
  const { em, purge } = work
  const found = await run(em, `select id from ${tables[kind]} where ${column} = any($1::uuid[]) limit ${atOnce}`, [ids])
  const locked = await lockResources(em, kind, found)
  if (locked.length === 0) return 0
  await deleteRows(work, { kind, ids: locked, what: withKind(purge.kind) })
  return locked.length
}

/** Takes a CA that goes from some certificates; answers how many. */
const forgetCa = async (em: EntityManager, ids: readonly string[]): Promise<number> => {
  const sql = `with found as (select id from certificate where issuer_ca_id = any($1::uuid[]) limit ${4 * atOnce}),
      locked as (select id from certificate where id in (select id from found) order by id for update)
    update certificate c set issuer_ca_id = null from locked where c.id = locked.id returning c.id`
  return (await run(em, sql, [ids])).length
}

/** Requests below what is deleted, their certificates with them. */
const deleteBelowRequests = async (work: Work, { ids, locked }: { ids: string[]; locked: string[] }): Promise<void> => {
  const { em, purge, now } = work
  const which = requestsBelow[purge.kind] ?? 'false'
  const found = await run(em, `select r.id from cert_request r where ${which} and r.id = any($2::uuid[])`, [
    ids,
    locked,
  ])
  const what = isLeaf(purge.kind) ? 'deleted' : withKind(purge.kind)
  const { requests, certificates } = await deleteRequests(em, found, { what, now })
  if (!isLeaf(purge.kind)) purge.along += requests + certificates
  else {
    const own = purge.kind === 'CERT_REQUEST' ? requests : certificates
    purge.deleted += own
    purge.along += requests + certificates - own
    await unmark(em, ids)
  }
}

/** Whether something below was deleted, so that the resources themselves have to wait. */
const wentBelow = async (work: Work, ids: readonly string[]): Promise<boolean> => {
  const { em, purge } = work
  if (purge.kind === 'CA') return (await forgetCa(em, ids)) > 0
  for (const link of partsBelow(purge.kind)) {
    const count = await deleteBelow(work, link, ids)
    purge.along += count
    if (count > 0) return true
  }
  return false
}

const deletePartOf = async (work: Work, part: PurgePart): Promise<void> => {
  const { em, purge } = work
  await takeTurns(em, { kind: purge.kind, ids: part.ids })
  const locked = await lockRequests(em, part.requestIds)
  const ids = await stillDeletable(work, part.ids)
  if (ids.length === 0) return
  if (locked.length > 0) return deleteBelowRequests(work, { ids, locked })
  if (isLeaf(purge.kind) || (await wentBelow(work, ids))) return
  await deleteRows(work, { kind: purge.kind, ids, what: 'deleted' })
  purge.deleted += ids.length
  await unmark(em, ids)
}

/** Deletes a part of a purge, or what is left of it; what was deleted before is not there. */
export const deletePart = (em: EntityManager, purgeId: string, { part, now }: { part: PurgePart; now: Date }) =>
  em.transactional(async tx => {
    const purge = await lockRow(tx, Purge, purgeId)
    actAs(tx, await askerOf(tx, purge))
    if (!purge.closedDate) await deletePartOf({ em: tx, purge, now }, part)
  })

/** How far a purge is. */
export const purgeProgress = async (em: EntityManager, purgeId: string): Promise<PurgeProgress> =>
  progressOf(await em.findOneOrFail(Purge, purgeId, { disableIdentityMap: true }))
