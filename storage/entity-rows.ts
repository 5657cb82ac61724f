// Rows of an entity by statements of their own: the columns that MikroORM would read, made into the same managed entities.
import type { EntityManager, EntityMetadata } from '@mikro-orm/postgresql'
import { statement, type Statement } from './statement.ts'

/** The class of an entity. */
export type EntityType<T extends object> = abstract new (...args: never[]) => T

type Properties = EntityMetadata['props']

const alias = 'e'

const isRead = ({ lazy, persist, formula }: Properties[number]): boolean =>
  lazy !== true && (persist !== false || formula !== undefined)

/** The columns of an entity that are read with it, as they are selected from its table or a set of its rows named `e`. */
export const selectedColumns = ({ props }: Pick<EntityMetadata, 'props'>): string => {
  const quoted = (name: string): string => `${alias}."${name}"`
  const columns = Object.fromEntries(props.map(({ name, fieldNames = [] }) => [name, quoted(fieldNames[0] ?? name)]))
  return props
    .filter(isRead)
    .map(({ name, formula, fieldNames = [] }) =>
      formula ? `${String(formula(columns as never, { alias } as never))} as "${fieldNames[0] ?? name}"` : columns[name],
    )
    .join(', ')
}

const byId = new Map<unknown, Statement<object>>()

const statementOf = <T extends object>(em: EntityManager, entity: EntityType<T>): Statement<object> => {
  const known = byId.get(entity)
  if (known) return known
  const meta = em.getMetadata(entity as never) as unknown as EntityMetadata
  const made = statement(`select ${selectedColumns(meta)} from "${meta.tableName}" ${alias} where ${alias}.id = $1`)
  byId.set(entity, made)
  return made
}

/** Makes a row that was read with these columns the managed entity of an EntityManager. */
export const entityOf = <T extends object>(em: EntityManager, entity: EntityType<T>, row: object): T =>
  em.map(entity as never, row) as T

/** The entity with an id (a UUID), managed as if `findOne` had read it; what is managed already is not read again. */
export const findById = async <T extends object>(
  em: EntityManager,
  entity: EntityType<T>,
  id: string,
): Promise<T | null> => {
  const known = em.getUnitOfWork().getById(entity as never, id as never) as T | undefined
  if (known) return known
  const [row] = await statementOf(em, entity).all(em, [id])
  return row ? entityOf(em, entity, row) : null
}
