// Rows of entities by prepared statements: the columns that MikroORM would read, made into the same managed entities.
import type { EntityManager, EntityMetadata } from '@mikro-orm/postgresql'
import { Statements, type Statement } from './statement.ts'

/** The class of an entity. */
export type EntityType<T extends object = object> = abstract new (...args: never[]) => T

type Property = EntityMetadata['props'][number]

const isRead = ({ lazy, persist, formula }: Property): boolean =>
  lazy !== true && (persist !== false || formula !== undefined)

const columnOf = ({ name, fieldNames }: Property): string => fieldNames[0] ?? name

/** What the records hold of an entity: its table and the members that have a column. */
export const metadataOf = (em: EntityManager, entity: EntityType): EntityMetadata => em.getMetadata<object>(entity)

/**
 * The columns that are read with an entity, as they are selected from its table or a set of its rows. Several entities
 * can be read by one statement where each has a prefix.
 */
export const selectedColumns = ({ props, tableName }: EntityMetadata, alias: string, prefix = ''): string => {
  const columns = Object.fromEntries(props.map(one => [one.name, `${alias}."${columnOf(one)}"`]))
  const table = { alias, name: tableName, qualifiedName: tableName, toString: () => alias }
  // The formulas of storage/rows are texts.
  const expressionOf = ({ name, formula }: Property): string =>
    (formula?.(columns, table) as string | undefined) ?? columns[name] ?? name
  return props
    .filter(isRead)
    .map(one => `${expressionOf(one)} as "${prefix}${columnOf(one)}"`)
    .join(', ')
}

const managed = <T extends object>(em: EntityManager, entity: EntityType<T>, id: unknown): T | undefined =>
  em.getUnitOfWork().getById(entity as never, id as never) as T | undefined

const without = (row: object, prefix: string): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([column]) => column.startsWith(prefix))
      .map(([column, value]) => [column.slice(prefix.length), value]),
  )

/** As `find` makes one of what it has read: `map` would take the picture that a flush compares with once more. */
const made = <T extends object>(em: EntityManager, entity: EntityType<T>, row: object): T => {
  const data = em.getDriver().mapResult(row as never, metadataOf(em, entity))
  const reading = { merge: true, refresh: true, convertCustomTypes: true }
  return em.getEntityFactory().create(entity as never, data as never, reading) as T
}

/** Makes a row with these columns the managed entity of an EntityManager; null where a joined row is not there. */
export const entityOf = <T extends object>(
  em: EntityManager,
  entity: EntityType<T>,
  { row, prefix = '' }: { readonly row: object; readonly prefix?: string },
): T | null => {
  const own = prefix === '' ? (row as Record<string, unknown>) : without(row, prefix)
  if (own['id'] === null || own['id'] === undefined) return null
  return managed(em, entity, own['id']) ?? made(em, entity, own)
}

/** An entity and the id of one of its rows. */
export interface Named {
  readonly entity: EntityType
  readonly id: string
}

/** A row that is read alone needs no prefix. */
const prefixOf = (index: number, of: readonly unknown[]): string => (of.length === 1 ? '' : `${index}.`)

/** What is read along with rows: an expression over their aliases and the parameters from `first` on. */
export interface Aside {
  readonly expression: (parts: readonly { meta: EntityMetadata; alias: string }[], first: number) => string
  readonly values: readonly unknown[]
}

const selecting = (em: EntityManager, entities: readonly EntityType[], aside?: Aside): string => {
  const parts = entities.map((entity, index) => ({ meta: metadataOf(em, entity), alias: `e${index}`, index }))
  const columns = parts.map(({ meta, alias, index }) => selectedColumns(meta, alias, prefixOf(index, parts)))
  const joins = parts.map(
    ({ meta, alias, index }) => `left join "${meta.tableName}" ${alias} on ${alias}.id = $${index + 1}`,
  )
  const more = aside ? [`${aside.expression(parts, parts.length + 1)} as "aside"`] : []
  return `select ${[...more, ...columns].join(', ')} from (select 1) as one ${joins.join(' ')}`
}

const [statements, statementsWithAside] = [new Statements<WithAside>(), new Statements<WithAside>()]

interface WithAside {
  readonly aside?: unknown
}

const statementFor = (em: EntityManager, entities: readonly EntityType[], aside?: Aside): Statement<WithAside> =>
  (aside ? statementsWithAside : statements).get(entities.map(({ name }) => name).join(), () =>
    selecting(em, entities, aside),
  )

/** Rows that were read together; null: not there. */
export interface Together {
  readonly rows: readonly (object | null)[]
  /** What was read along with them; undefined where no row had to be read. */
  readonly aside: unknown
}

/** As `findTogether`, and something else by the same statement: it is the same expression wherever it is asked for. */
export const findTogetherWith = async (em: EntityManager, all: readonly Named[], given?: Aside): Promise<Together> => {
  const missing = all.filter(({ entity, id }) => managed(em, entity, id) === undefined)
  const entities = missing.map(({ entity }) => entity)
  const values = [...missing.map(({ id }) => id), ...(given?.values ?? [])]
  const [read] = missing.length > 0 ? await statementFor(em, entities, given).all(em, values) : []
  const { aside, ...row } = read ?? {}
  const found = new Map(
    missing.map((one, index) => [one, entityOf(em, one.entity, { row, prefix: prefixOf(index, missing) })]),
  )
  return { rows: all.map(one => found.get(one) ?? managed(em, one.entity, one.id) ?? null), aside }
}

/** The rows of these entities and ids (UUIDs) in one statement, managed as if `findOne` had read each; null: not there. */
export const findTogether = async (em: EntityManager, all: readonly Named[]): Promise<readonly (object | null)[]> =>
  (await findTogetherWith(em, all)).rows
