// Archiving and unarchiving (contract 4.4): a resource and what it takes along, in one transaction, by a few statements
// however much that is. Rows that were taken along name in `archived_with` what took them.
import type { EntityManager } from '@mikro-orm/postgresql'
import { EntitiesEnum } from '../domain/enums.ts'
import { apiErrors, Failure, type ApiError } from '../domain/failure.ts'
import type { Place } from '../domain/permissions.ts'
import {
  above,
  belongings,
  below,
  hanging,
  labels,
  none,
  refusals,
  tables,
  takenAlong,
  type Link,
} from './archive-kinds.ts'
import { takeKeyedLocks } from './lock.ts'
import { actor } from './rows/stamp.ts'
import { Statements } from './statement.ts'

/** What is to be archived or brought back; the author is the actor of the EntityManager. */
export interface Archiving {
  readonly kind: EntitiesEnum
  readonly ids: readonly string[]
  readonly now: Date
}

const placeColumns: Readonly<Record<EntitiesEnum, string>> = {
  REALM: `t.id as "REALM"`,
  POLICY: `t.realm_id as "REALM", t.id as "POLICY"`,
  END_ENTITY: `t.realm_id as "REALM", t.id as "END_ENTITY"`,
  CERT_REQUEST: `t.realm_id as "REALM", t.policy_id as "POLICY", t.id as "CERT_REQUEST"`,
  CERTIFICATE: `t.realm_id as "REALM", t.policy_id as "POLICY", t.id as "CERTIFICATE"`,
  CERTIFICATE_PROVIDER: 't.id',
  CA: 't.id',
  MAILING_LIST: 't.id',
}

/** Where the resources of a kind with these ids hang; the unknown have no place. */
export const placesOf = async (
  em: EntityManager,
  kind: EntitiesEnum,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Place>> => {
  const sql = `select t.id as "rowId", ${placeColumns[kind]} from ${tables[kind]} t where t.id = any($1::uuid[])`
  const rows = await places.get(kind, () => sql).all(em, [ids])
  return new Map(rows.map(({ rowId, ...place }) => [rowId, place]))
}
const places = new Statements<Place & { rowId: string }>()

const statements = new Statements<{ id: string }>()

/** Runs a statement of fixed text and answers the ids of its rows. */
export const run = async (em: EntityManager, sql: string, values: readonly unknown[]): Promise<string[]> =>
  (await statements.get(sql, () => sql).all(em, values)).map(({ id }) => id)

/** Throws a refusal that names a resource. */
export const refuse = (code: ApiError, kind: EntitiesEnum, id: string): never => {
  throw new Failure(code, `${apiErrors[code].description}: ${EntitiesEnum[kind].toLowerCase()} ${id}.`)
}

/** Rows `t` with the ids `$1`. */
const named = 't.id = any($1::uuid[])'

/** Two that archive in one realm would else wait for rows of each other. */
export const takeTurns = async (em: EntityManager, { kind, ids }: Omit<Archiving, 'now'>): Promise<void> => {
  const { realm } = belongings[kind]
  if (realm === none) return
  const sql = `select distinct ${realm} as id from ${tables[kind]} t where ${named}`
  await takeKeyedLocks(em, 'ARCHIVE', await run(em, sql, [ids]))
}

const lockingBelow = (link: Link): string =>
  `with locked as (select t.id from ${tables[link.kind]} t where ${hanging(link)} order by t.id for update)
   select count(*)::text as id from locked`

/**
 * Keeps rows from changing and answers those that are archived, or are not. Their requests come first, as in every
 * transaction that issues, and each kind in one order: nobody waits for somebody who waits for him.
 */
const lockThose = async (em: EntityManager, all: Archiving, archived: boolean): Promise<string[]> => {
  const { kind, ids } = all
  await takeTurns(em, all)
  const requests = below[kind].find(link => link.kind === 'CERT_REQUEST')
  if (requests) await run(em, lockingBelow(requests), [ids])
  return run(
    em,
    `with locked as (select id, archived from ${tables[kind]} where id = any($1::uuid[]) order by id for update)
     select id from locked where archived = $2`,
    [ids, archived],
  )
}

/** What is done with some rows of a kind. */
export interface Step {
  readonly kind: EntitiesEnum
  readonly which: string
  /** What else holds for the rows. */
  readonly where?: string
}

/** The columns of an event that a statement writes. */
export const columnsOfEvents = `(object_id, realm_id, certificate_id, event_type, event_description, principal_id,
  principal_type, occurred_date)`

/** Writes an event for each row of a step; `what` ends the sentence before its author. */
export const recordEach = async (
  em: EntityManager,
  { ids, now }: Omit<Archiving, 'kind'>,
  step: Step & { type: string; what: string },
): Promise<void> => {
  const { kind, which, where = 'true', type, what } = step
  const { id, type: principalType, name } = actor(em)
  const { realm, certificate } = belongings[kind]
  const sql = `insert into audit_event ${columnsOfEvents}
    select t.id, ${realm}, ${certificate}, $2, ${labels[kind]} || $3, $4::uuid, $5, $6
      from ${tables[kind]} t where ${which} and ${where}`
  await run(em, sql, [ids, type, ` ${what} by ${name}`, id, principalType, now])
}

/** Sets columns of each row of a step; `$2`, `$3` and `$4` are the present, and the author by id and kind. */
const changeEach = async (em: EntityManager, { ids, now }: Archiving, step: Step & { set: string }): Promise<void> => {
  const { kind, which, where = 'true', set } = step
  const { id, type } = actor(em)
  const stamp = `version = version + 1, last_modified_date = $2, last_modified_by = $3::uuid, last_modified_by_type = $4`
  await run(em, `update ${tables[kind]} t set ${set}, ${stamp} where ${which} and ${where}`, [ids, now, id, type])
}

const archived = 'archived = true, archived_date = $2, archived_by = $3::uuid, archived_by_type = $4'
const living =
  'archived = false, archived_date = null, archived_by = null, archived_by_type = null, archived_with = null'

/** An order that lost requests. */
export interface ChangedOrder {
  readonly orderId: string
  readonly certRequestIds: string[]
}

/** Ends the items of running orders whose requests have been archived, and answers which. */
const cancelItems = (em: EntityManager, { ids, now }: Archiving, which: string): Promise<ChangedOrder[]> => {
  const { id, type, name } = actor(em)
  const sql = `with ended as (
      update order_item i set status = 'CANCELED' from cert_request t
       where i.cert_request_id = t.id and i.status = 'RUNNING' and ${which} returning i.order_id, t.id),
    freed as (
      update cert_request t set run_id = null, run_since = null from ended where t.id = ended.id and t.run_id = ended.order_id),
    told as (
      insert into audit_event ${columnsOfEvents}
      select t.id, t.realm_id, null::uuid, 'ORDER_CANCELED',
          'Order ' || ended.order_id || ' canceled for the c' || substr(${labels.CERT_REQUEST}, 2) || $2, $3::uuid, $4, $5
        from ended join cert_request t on t.id = ended.id)
    select order_id as "orderId", array_agg(id) as "certRequestIds" from ended group by order_id`
  return canceling.get(sql, () => sql).all(em, [ids, ` by ${name}`, id, type, now])
}
const canceling = new Statements<ChangedOrder>()

/** The refusal of contract 4.4 that the first of the rows gets. */
const mustBeAllowed = async (em: EntityManager, { kind, ids, now }: Archiving): Promise<void> => {
  for (const { code, sql, now: isAsked } of refusals[kind]) {
    const [id] = await run(em, sql, isAsked ? [ids, now] : [ids])
    if (id !== undefined) refuse(code, kind, id)
  }
}

const archiveLinked = async (em: EntityManager, wanted: Archiving, link: Link): Promise<void> => {
  const set = `${archived}, archived_with = t.${link.column}`
  await changeEach(em, wanted, { kind: link.kind, which: hanging(link), where: 'not t.archived', set })
}

/**
 * Archives resources with what hangs on them, or none of them; those that are archived already stay as they are. Answers the
 * orders that lost requests. The requests are written first: an issue that is under way either has its certificate seen, or
 * finds its request archived.
 */
export const archive = async (em: EntityManager, all: Archiving): Promise<ChangedOrder[]> => {
  const wanted = { ...all, ids: await lockThose(em, all, false) }
  if (wanted.ids.length === 0) return []
  const { kind } = wanted
  const links = below[kind].filter(link => link.kind !== 'CERTIFICATE')
  for (const link of links) await archiveLinked(em, wanted, link)
  await mustBeAllowed(em, wanted)
  for (const link of below[kind].filter(link => link.kind === 'CERTIFICATE')) await archiveLinked(em, wanted, link)
  await changeEach(em, wanted, { kind, which: named, set: archived })
  await recordEach(em, wanted, { kind, which: named, type: 'ENTITY_ARCHIVED', what: 'archived' })
  const what = `archived with its ${EntitiesEnum[kind].toLowerCase()}`
  for (const link of below[kind])
    await recordEach(em, wanted, { kind: link.kind, which: takenAlong(link), type: 'ENTITY_ARCHIVED', what })
  const requests = links.find(link => link.kind === 'CERT_REQUEST')
  if (requests) return cancelItems(em, wanted, takenAlong(requests))
  return kind === 'CERT_REQUEST' ? cancelItems(em, wanted, named) : []
}

const isArchived = ({ kind, column }: Link): string =>
  `exists (select from ${tables[kind]} u where u.id = t.${column} and u.archived)`

const parentsAre = (kind: EntitiesEnum): string => above[kind].map(isArchived).join(' or ') || 'false'

const mustHaveParents = async (em: EntityManager, { kind, ids }: Archiving): Promise<void> => {
  const sql = `select t.id from ${tables[kind]} t where ${named} and (${parentsAre(kind)}) limit 1`
  const [id] = await run(em, sql, [ids])
  if (id !== undefined) refuse('PARENT_ARCHIVED', kind, id)
}

/** What a purge has begun to delete does not come back, neither by itself nor with what took it along (contract 4.5). */
const mustNotBePurged = async (em: EntityManager, { kind, ids }: Archiving): Promise<void> => {
  const own = 'select resource_id as id from purge_item where resource_id = any($1::uuid[])'
  const along = below[kind].map(
    link =>
      `select t.id from ${tables[link.kind]} t join purge_item i on i.resource_id = t.id where ${takenAlong(link)}`,
  )
  const [id] = await run(em, [own, ...along].join(' union all ') + ' limit 1', [ids])
  if (id !== undefined)
    throw new Failure('INVALID_STATE', `A purge is about to delete ${id}: ask again when it has ended.`)
}

/** What else is archived above a row and would have taken it along, so that it comes back with that; null: nothing. */
const otherTaker = (kind: EntitiesEnum): string => {
  const takers = above[kind].filter(parent => below[parent.kind].some(link => link.kind === kind))
  const ids = takers.map(
    ({ kind: of, column }) => `(select u.id from ${tables[of]} u where u.id = t.${column} and u.archived)`,
  )
  return `coalesce(${[...ids, none].join(', ')})`
}

const bringBackLinked = async (em: EntityManager, wanted: Archiving, link: Link): Promise<void> => {
  const { kind } = link
  const which = takenAlong(link)
  const waits = `(${parentsAre(kind)})`
  const what = `brought back with its ${EntitiesEnum[wanted.kind].toLowerCase()}`
  await changeEach(em, wanted, { kind, which, where: waits, set: `archived_with = ${otherTaker(kind)}` })
  await recordEach(em, wanted, { kind, which, type: 'ENTITY_UNARCHIVED', what })
  await changeEach(em, wanted, { kind, which, set: living })
}

/**
 * Brings archived resources back with what their archiving took along, or none of them; those that are not archived stay as
 * they are. What hangs on something else that is archived by now waits for that.
 */
export const unarchive = async (em: EntityManager, all: Archiving): Promise<void> => {
  const wanted = { ...all, ids: await lockThose(em, all, true) }
  if (wanted.ids.length === 0) return
  const { kind } = wanted
  await mustNotBePurged(em, wanted)
  await mustHaveParents(em, wanted)
  await recordEach(em, wanted, { kind, which: named, type: 'ENTITY_UNARCHIVED', what: 'brought back' })
  await changeEach(em, wanted, { kind, which: named, set: living })
  for (const link of below[kind]) await bringBackLinked(em, wanted, link)
}
