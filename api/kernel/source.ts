// Where the rows come from that an operation works on: an entity, and the input member that names its id.
import type { EntityManager } from '@mikro-orm/postgresql'
import { apiErrors, Failure, type ApiError } from '../../domain/failure.ts'
import type { Place } from '../../domain/permissions.ts'
import { findByIds } from '../../storage/by-ids.ts'
import { findTogether, type Named } from '../../storage/entity-rows.ts'
import { findWithGrants, type HeldGrants } from '../../storage/grant.ts'

/** A row as the kernel sees it. */
export interface Row {
  readonly id: string
  readonly version?: number
  readonly archived?: boolean
  readonly place?: Place
}

/** The place of a row: what hangs nowhere may be a principal, which is a place of its own. */
export const placeOf = ({ id, place }: Row): Place => place ?? { PRINCIPAL: id }

/** The class of an entity. */
export type EntityType<T extends object = object> = { readonly name: string; readonly prototype: T } & (abstract new (
  ...args: never[]
) => T)

/** The shaped input of a request, as far as sources look at it. */
export interface SourceInput {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** How one named row (or list of rows) is found. */
export interface Source<T = unknown> {
  readonly entity: EntityType
  readonly part: keyof SourceInput
  readonly member: string
  readonly missing: ApiError
  /** Never there: carries the type of what is loaded. */
  readonly row?: T
}

/** The code of an unknown id: END_ENTITY_NOT_FOUND for EndEntity. */
export const missingCodeOf = (entity: EntityType): ApiError => {
  const code = `${entity.name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}_NOT_FOUND`
  if (!(code in apiErrors)) throw new Error(`${code} is not a code of the contract: name one for ${entity.name}.`)
  return code as ApiError
}

type Part = keyof SourceInput
const source =
  (part: Part) =>
  <T extends object>(entity: EntityType<T>, member = 'id', missing = missingCodeOf(entity)): Source<T> => ({
    entity,
    part,
    member,
    missing,
  })

/** Sources of rows: `from.path(CertRequest)`, `from.body(Policy, 'policyId')`, `from.bodyList(Realm, 'realmIds')`. */
export const from = {
  path: source('params'),
  query: source('query'),
  body: source('body'),
  /** A list of ids in the body; every one must exist. */
  bodyList: source('body') as <T extends object>(
    entity: EntityType<T>,
    member: string,
    missing?: ApiError,
  ) => Source<T[]>,
  /** A list of ids in the query; every one must exist. */
  queryList: source('query') as <T extends object>(
    entity: EntityType<T>,
    member: string,
    missing?: ApiError,
  ) => Source<T[]>,
  /** A source whose member may be absent or null. */
  optional: <T>(inner: Source<T>): Source<T | undefined> => inner,
}

const valueIn = (input: SourceInput, { part, member }: Source): unknown =>
  (input[part] as Readonly<Record<string, unknown>> | undefined)?.[member]

/** The one id that a source names, where it names one. */
export const namedIn = (input: SourceInput, from: Source): string | undefined => {
  const id = valueIn(input, from)
  return typeof id === 'string' ? id : undefined
}

/** Every id that a source names, in its one member or its list. */
export const allNamedIn = (input: SourceInput, from: Source): string[] =>
  [valueIn(input, from)].flat().filter(id => typeof id === 'string')

const loadList = async (em: EntityManager, { entity, missing }: Source, ids: readonly string[]): Promise<Row[]> => {
  const rows = await findByIds(em, entity as EntityType<Row>, ids)
  const byId = new Map(rows.map(row => [row.id, row]))
  return ids.map(id => byId.get(id) ?? missingRow(missing, id))
}

const missingRow = (code: ApiError, id: string): never => {
  throw new Failure(code, `${apiErrors[code].description}: ${id}.`)
}

type Loaded = Row | Row[] | undefined

/** Rows by the names of their sources, and what the reader holds on them where that was asked for. */
export interface AllLoaded {
  readonly rows: Readonly<Record<string, Loaded>>
  readonly held?: HeldGrants | undefined
}

/** With the grants of a reader; those on lists are read when the rows are there. */
const findSingle = async (em: EntityManager, all: readonly Named[], readerId: string | undefined) =>
  readerId === undefined ? { rows: await findTogether(em, all) } : findWithGrants(em, readerId, all)

/**
 * Loads what sources name: rows, or undefined where nothing is named; the first unknown id is a 404. Single rows are read
 * by one statement, with the grants of a reader on them where one is named and no list is among the sources.
 */
export const loadAll = async (
  em: EntityManager,
  sources: Readonly<Record<string, Source>>,
  input: SourceInput & { readonly readerId?: string | undefined },
): Promise<AllLoaded> => {
  const single = Object.values(sources).flatMap(source => {
    const id = namedIn(input, source)
    return id === undefined ? [] : [{ source, entity: source.entity, id }]
  })
  const hasList = Object.values(sources).some(source => Array.isArray(valueIn(input, source)))
  const { held, ...read } = { held: undefined, ...(await findSingle(em, single, hasList ? undefined : input.readerId)) }
  const found = new Map(single.map(({ source, id }, index) => [source, { id, row: read.rows[index] as Row | null }]))
  const rows: Record<string, Loaded> = {}
  for (const [name, source] of Object.entries(sources)) {
    const list = valueIn(input, source)
    const { id = '', row } = found.get(source) ?? {}
    rows[name] = Array.isArray(list)
      ? await loadList(em, source, list)
      : row === null
        ? missingRow(source.missing, id)
        : row
  }
  return { rows, held }
}
