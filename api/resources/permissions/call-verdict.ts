// Whether a principal may call an operation and what decides it: judged by the walk that decides the call itself
// (domain/permissions.ts).
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { Failure } from '../../../domain/failure.ts'
import { couldServe } from '../../../domain/grant-rules.ts'
import { isPlaceless, isScoped, reachOf, type Place, type Right, type Verdict } from '../../../domain/permissions.ts'
import { countHeld, findGivers, findPrincipals, namesAt, type NamedPrincipal } from '../../../storage/authorization.ts'
import { loadGrantsOfAll } from '../../../storage/grant.ts'
import type { Caller } from '../../kernel/caller.ts'
import { rightsOf, type FurtherNeed } from '../../kernel/needs.ts'
import type { Operation } from '../../kernel/operation.ts'
import { loadAll, missingCodeOf, placeOf, type EntityType, type Row, type Source } from '../../kernel/source.ts'

/** One right that an operation asks, and on what. */
interface Need extends FurtherNeed {
  /** Its row in `on`, for those that the kernel asks. */
  readonly row?: string
}

/** What the question is about: the resource that its id names, by the need that is asked on it. */
interface Target {
  readonly need: Need
  readonly entity: EntityType
  readonly row: Row
}

/** A need and what came of it; undefined where it hangs on a resource that the question does not name. */
export interface Judged {
  readonly need: Need
  readonly place: Place
  readonly verdict: Verdict | undefined
}

const parts = { params: 'path', query: 'query', body: 'body' } as const

const schemaOf = (operation: Operation, { part, member }: Source): z.ZodType | undefined => {
  const { body } = operation
  if (part !== 'body') return operation[part][member]
  return body instanceof z.ZodObject ? (body.shape[member] as z.ZodType | undefined) : undefined
}

const isOptional = (operation: Operation, source: Source): boolean =>
  schemaOf(operation, source)?.safeParse(undefined).success ?? false

/** END_ENTITY for EndEntity. */
export const kindOf = (entity: EntityType): string => missingCodeOf(entity).replace(/_NOT_FOUND$/, '')

/** A constant as people say it. */
export const wordsOf = (constant: string): string => constant.toLowerCase().replaceAll('_', ' ')

const needOf = (operation: Operation, [row, right]: [string, Right]): Need => {
  const source = operation.on[row]
  if (!source) return { right, row, on: 'no resource' }
  const named = `the ${wordsOf(kindOf(source.entity))} that ${source.member} in the ${parts[source.part]} names`
  return { right, row, on: named, entity: source.entity, optional: isOptional(operation, source) }
}

const needsOf = (operation: Operation): Need[] => [
  ...rightsOf(operation).map(asked => needOf(operation, asked)),
  ...operation.alsoNeeds,
]

/** The resource that an id names; INVALID_REQUEST without an id where the answer hangs on one. */
const findTarget = async (
  em: EntityManager,
  needs: readonly Need[],
  id: string | null,
): Promise<Target | undefined> => {
  const need = needs.find(({ entity }) => entity !== undefined)
  if (!need?.entity) return undefined
  const { entity, row: asked, right, optional } = need
  if (id === null && asked && !optional && !isPlaceless(right))
    throw new Failure('INVALID_REQUEST', `id is required: it names ${need.on}.`, [
      { field: 'id', message: `is required: it names ${need.on}` },
    ])
  const source = { entity, part: 'query', member: 'id', missing: missingCodeOf(entity) } as const
  const { row } = (await loadAll(em, { row: source }, { params: {}, query: { id }, body: null })).rows
  return row && { need, entity, row: row as Row }
}

const judge = async (principal: Caller, need: Need, target: Target | undefined): Promise<Judged> => {
  const isKnown = target && (target.need === need || (need.at !== undefined && need.at === target.need.row))
  const place = isKnown ? placeOf(target.row) : {}
  const [verdict] = await principal.judge(need.right, [place])
  const isSettled = isKnown === true || isPlaceless(need.right) || verdict?.allowed === true
  return { need, place, verdict: isSettled ? verdict : undefined }
}

/** A need with those that the input may choose instead of it. */
export const choicesOf = (judged: readonly Judged[], one: Judged): readonly Judged[] => {
  const { unless } = one.need
  return [...judged.filter(({ need }) => unless !== undefined && need.row === unless), one]
}

/** Whether a need is satisfied, by one of its choices; null where that hangs on what the question does not name. */
export const isMet = (judged: readonly Judged[], one: Judged): boolean | null => {
  const answers = choicesOf(judged, one).map(({ verdict }) => verdict?.allowed)
  if (answers.includes(true)) return true
  return answers.includes(undefined) ? null : false
}

const bindingOf = (judged: readonly Judged[], target: Target | undefined): readonly Judged[] =>
  judged.filter(({ need }) => need.optional !== true || need === target?.need)

/** False where a right is known to be missing, null where it hangs on what the question does not name. */
const verdictOf = (judged: readonly Judged[], binding: readonly Judged[]): boolean | null => {
  const answers = binding.map(one => isMet(judged, one))
  if (answers.includes(false)) return false
  return answers.includes(null) ? null : true
}

/** More who could help are not named. */
const maxGrantors = 100

/** Who could hand out what is missing, now and by itself (contract 7.3). */
const findGrantors = async (em: EntityManager, { place, verdict }: Judged): Promise<NamedPrincipal[]> => {
  if (!verdict || verdict.allowed) return []
  const givers = await loadGrantsOfAll(em, await findGivers(em, place), [place])
  const able = givers.filter(giver => couldServe(verdict.wouldServe, place, giver)).map(giver => giver.principalId)
  return (await findPrincipals(em, able)).slice(0, maxGrantors)
}

/** What a filtered list would hold: everything, or what hangs on so many resources. */
const measureReach = async (em: EntityManager, principal: Caller, right: Right) => {
  const reach = reachOf(right, principal.global)
  const ways = reach.all ? [] : reach.ways.filter(isScoped)
  const count = async ({ on: scope, any }: (typeof ways)[number]) => ({
    scope,
    permissions: [...any],
    resources: await countHeld(em, principal.id, { scope, any }),
  })
  return { right, all: reach.all, ways: await Promise.all(ways.map(count)) }
}

/** Whether a principal may call an operation, and what decides it. */
export interface CallVerdict {
  readonly target: { readonly scope: string; readonly id: string; readonly name: string } | null
  readonly judged: readonly Judged[]
  /** The one on the target, else the first. */
  readonly main: Judged | undefined
  /** What stands in the way, if anything does. */
  readonly missing: Judged | undefined
  readonly allowed: boolean | null
  readonly grantors: readonly NamedPrincipal[]
  readonly reach: Awaited<ReturnType<typeof measureReach>> | null
}

const shown = async (em: EntityManager, { entity, row }: Target) => {
  const scope = kindOf(entity)
  const known = (await namesAt(em, placeOf(row))) as ReadonlyMap<string, string>
  const [principal] = await findPrincipals(em, [row.id])
  const { name } = row as { name?: string }
  return { scope, id: row.id, name: known.get(scope) ?? principal?.name ?? name ?? row.id }
}

/** Finds what decides whether a principal may call an operation, on the resource with this id where one is named. */
export const judgeCall = async (
  em: EntityManager,
  principal: Caller,
  { operation, id }: { operation: Operation; id: string | null },
): Promise<CallVerdict> => {
  const needs = needsOf(operation)
  const target = await findTarget(em, needs, id)
  const judged = await Promise.all(needs.map(need => judge(principal, need, target)))
  const binding = bindingOf(judged, target)
  const missing = binding.find(one => isMet(judged, one) === false)
  return {
    target: target ? await shown(em, target) : null,
    judged,
    main: judged.find(({ need }) => need === target?.need) ?? judged[0],
    missing,
    allowed: verdictOf(judged, binding),
    grantors: missing ? await findGrantors(em, missing) : [],
    reach: operation.shows ? await measureReach(em, principal, operation.shows) : null,
  }
}
