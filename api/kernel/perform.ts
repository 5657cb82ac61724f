// Running one operation on shaped input, in the order of contract 1.6: existence, rights, state and version, rules.
import type { EntityManager } from '@mikro-orm/postgresql'
import { actAs } from '../../storage/rows/stamp.ts'
import { Failure } from '../../domain/failure.ts'
import { isGlobal, isPlaceless, type Place, type Right } from '../../domain/permissions.ts'
import { Caller, type IdentifiedPrincipal, type KnownPrincipal } from './caller.ts'
import { denied } from './denied.ts'
import type { Dependencies, Hashing, Hearing } from './dependencies.ts'
import { encodeAnswer } from './encode.ts'
import { isCollision } from './errors.ts'
import { declaredBy, rightsOf } from './needs.ts'
import type { Operation, Operations } from './operation.ts'
import { allNamedIn, loadAll, placeOf, type Row, type SourceInput } from './source.ts'

/** The shaped input of one call. */
export interface Input extends SourceInput, Partial<Hashing>, Partial<Hearing> {
  readonly page: unknown
  /** Where the handler puts the headers of its answer. */
  readonly headers?: Record<string, string>
  /** Undefined at a public operation. */
  readonly principal: IdentifiedPrincipal | undefined
}

type Rows = Readonly<Record<string, Row | Row[] | undefined>>

const retries = 3

const every = (rows: Rows, name?: string): Row[] =>
  Object.entries(rows)
    .filter(([key]) => name === undefined || key === name)
    .flatMap(([, row]) => row ?? [])

const asksGloballyOnly = (operation: Operation): boolean => {
  const rights = rightsOf(operation)
  return rights.length > 0 && rights.every(([, right]) => isGlobal(right))
}

const mustAt = async (caller: Caller, right: Right, places: readonly Place[]): Promise<void> => {
  const refused = (await caller.judge(right, places)).find(({ allowed }) => !allowed)
  if (refused) throw denied(right, refused)
}

const demandGlobally = async (operation: Operation, caller: Caller, input: Input): Promise<void> => {
  for (const [name, right] of rightsOf(operation)) {
    const source = operation.on[name]
    const places = source ? allNamedIn(input, source).map(id => ({ PRINCIPAL: id })) : []
    await mustAt(caller, right, places.length > 0 ? places : [{}])
  }
}

const demand = async (operation: Operation, caller: Caller, rows: Rows): Promise<void> => {
  for (const [name, right] of rightsOf(operation)) {
    const places = every(rows, name).map(placeOf)
    if (isPlaceless(right)) places.push({})
    await mustAt(caller, right, places)
  }
}

const statedVersion = (body: unknown): number | undefined => {
  const version = (body as { version?: unknown } | undefined)?.version
  return typeof version === 'number' ? version : undefined
}

const checkState = ({ living }: Operation, rows: Rows, { body }: Input): void => {
  if (living && every(rows).some(row => row.archived)) throw new Failure('ENTITY_ARCHIVED')
  const stated = statedVersion(body)
  const [target] = every(rows, 'target')
  if (stated !== undefined && target?.version !== undefined && target.version !== stated)
    throw new Failure('VERSION_CONFLICT')
}

const mustBeOfKind = ({ onlyFor }: Operation, { type }: KnownPrincipal): void => {
  if (onlyFor && type !== onlyFor) throw new Failure('ACCESS_DENIED', 'The operation is for API clients only.')
}

const authorized = async (em: EntityManager, operation: Operation, input: Input) => {
  const { principal } = input
  if (!principal) return { rows: (await loadAll(em, operation.on, input)).rows, caller: undefined }
  const declared = declaredBy(operation)
  if (asksGloballyOnly(operation)) {
    const caller = await Caller.load(em, principal, { declared })
    await demandGlobally(operation, caller, input)
    return { rows: (await loadAll(em, operation.on, input)).rows, caller }
  }
  const readerId = principal.held ? undefined : principal.id
  const { rows, held = principal.held } = await loadAll(em, operation.on, { ...input, readerId })
  const caller = await Caller.load(em, { ...principal, held }, { places: every(rows).map(placeOf), declared })
  await demand(operation, caller, rows)
  mustBeOfKind(operation, principal)
  return { rows, caller }
}

/** What operations run with: the dependencies, and the operations of the interface. */
export interface Running extends Dependencies {
  readonly operations?: Operations
}

/** What only reads changes none of the rows that it has loaded; what it records is new. */
const mayHaveWritten = ({ method }: Operation, em: EntityManager): boolean =>
  method !== 'GET' || em.getUnitOfWork().getPersistStack().size > 0

const attempt = async (operation: Operation, input: Input, deps: Running): Promise<unknown> => {
  const em = deps.orm.em.fork()
  if (input.principal) actAs(em, input.principal)
  const { rows, caller } = await authorized(em, operation, input)
  checkState(operation, rows, input)
  const { temporal, clock, settings, seal, operations = {} } = deps
  const { headers = {}, hashInLine = work => work(), macInLine = work => work(), isHeard = () => true } = input
  const surroundings = { em, temporal, clock, settings, seal, operations, headers, hashInLine, macInLine, isHeard }
  const value = await operation.handle({ ...input, ...rows, ...surroundings, caller })
  if (mayHaveWritten(operation, em)) await em.flush()
  return operation.answer === null ? undefined : encodeAnswer(operation.answer, value)
}

const mayRepeat = ({ repeatable }: Operation, { body }: Input): boolean =>
  repeatable && statedVersion(body) === undefined

/** Runs an operation and answers its encoded value; a collision with another writer is tried again where that is safe. */
export const perform = async (operation: Operation, input: Input, deps: Running): Promise<unknown> => {
  let left = mayRepeat(operation, input) ? retries : 0
  const again = async (error: unknown): Promise<unknown> => {
    if (left === 0 || !isCollision(error)) throw error
    left -= 1
    return attempt(operation, input, deps).catch(again)
  }
  return attempt(operation, input, deps).catch(again)
}
