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

/** Makes a row with these columns the managed entity of an EntityManager; null where a joined row is not there. */
export const entityOf = <T extends object>(
  em: EntityManager,
  entity: EntityType<T>,
  { row, prefix = '' }: { readonly row: object; readonly prefix?: string },
): T | null => {
  const own = prefix === '' ? (row as Record<string, unknown>) : without(row, prefix)
  if (own['id'] === null || own['id'] === undefined) return null
  return managed(em, entity, own['id']) ?? em.map<T>(entity as never, own as never)
}

/** An entity and the id of one of its rows. */
export interface Named {
  readonly entity: EntityType
  readonly id: string
}

/** A row that is read alone needs no prefix. */
const prefixOf = (index: number, of: readonly unknown[]): string => (of.length === 1 ? '' : `${index}.`)

const selecting = (em: EntityManager, entities: readonly EntityType[]): string => {
  const parts = entities.map((entity, index) => ({ meta: metadataOf(em, entity), alias: `e${index}`, index }))
  const columns = parts.map(({ meta, alias, index }) => selectedColumns(meta, alias, prefixOf(index, parts)))
  const joins = parts.map(
    ({ meta, alias, index }) => `left join "${meta.tableName}" ${alias} on ${alias}.id = $${index + 1}`,
  )
  return `select ${columns.join(', ')} from (select 1) as one ${joins.join(' ')}`
}

const statements = new Statements<object>()

const statementFor = (em: EntityManager, entities: readonly EntityType[]): Statement<object> =>
  statements.get(entities.map(({ name }) => name).join(), () => selecting(em, entities))

/** The rows of these entities and ids (UUIDs) in one statement, managed as if `findOne` had read each; null: not there. */
export const findTogether = async (em: EntityManager, all: readonly Named[]): Promise<(object | null)[]> => {
  const missing = all.filter(({ entity, id }) => managed(em, entity, id) === undefined)
  const statement =
    missing.length > 0 &&
    statementFor(
      em,
      missing.map(({ entity }) => entity),
    )
  const [row = {}] = statement
    ? await statement.all(
        em,
        missing.map(({ id }) => id),
      )
    : []
  const found = new Map(
    missing.map((one, index) => [one, entityOf(em, one.entity, { row, prefix: prefixOf(index, missing) })]),
  )
  return all.map(one => found.get(one) ?? managed(em, one.entity, one.id) ?? null)
}
