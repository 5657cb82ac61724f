// Storing thousands of rows in a few statements: PostgreSQL reads them from one JSON text, which costs this process little.
import type { EntityClass, EntityManager } from '@mikro-orm/postgresql'
import { Statements, type Statement } from './statement.ts'

/** Rows in one statement: some megabytes of text at most where rows hold certificates. */
const atOnce = 1000

/** How a value stands in JSON where JSON has no form of its own for it. */
export const jsonForm = (value: unknown): unknown =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value

type Rows = readonly Readonly<Record<string, unknown>>[]

const columnsOf = <T extends object>(em: EntityManager, entity: EntityClass<T>, members: readonly string[]) => {
  const { tableName, properties } = em.getMetadata(entity)
  const nameOf = (member: string) => properties[member as keyof typeof properties].fieldNames[0] ?? member
  return { tableName, columns: members.map(nameOf) }
}

interface Inserted {
  readonly rows: Rows
  readonly members: readonly string[]
  readonly tail?: string
  readonly parameter?: number
}

/** An insert of the rows that the parameter of this number holds, and that parameter. */
const insertionOf = <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  { rows, members, tail = '', parameter = 1 }: Inserted,
): { sql: string; json: string } => {
  const { tableName, columns } = columnsOf(em, entity, members)
  const list = columns.map(column => `"${column}"`).join(', ')
  const records = rows.map(row => Object.fromEntries(members.map((member, at) => [columns[at], jsonForm(row[member])])))
  return {
    sql: `insert into "${tableName}" (${list}) select ${list} from json_populate_recordset(null::"${tableName}", $${parameter}::json) ${tail}`,
    json: JSON.stringify(records),
  }
}

const inserts = new Statements<{ id: string }>()

/** The statement of this text, of which there are as many as the code has sets of tables and members. */
const inserting = (sql: string): Statement<{ id: string }> => inserts.get(sql, () => sql)

const insertAtOnce = async <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  inserted: Inserted,
): Promise<{ id: string }[]> => {
  const { sql, json } = insertionOf(em, entity, inserted)
  return inserting(sql).all(em, [json])
}

const insert = async <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  { rows, tail = '' }: { rows: Rows; tail?: string },
): Promise<{ id: string }[]> => {
  const members = Object.keys(rows[0] ?? {})
  const answers: { id: string }[] = []
  for (let start = 0; start < rows.length; start += atOnce) {
    const answer = await insertAtOnce(em, entity, { rows: rows.slice(start, start + atOnce), members, tail })
    if (tail) answers.push(...answer)
  }
  return answers
}

/** Inserts rows that all have the same members, named as in the entity; columns that they leave out get their defaults. */
export const insertRows = async <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  rows: Rows,
): Promise<void> => void (await insert(em, entity, { rows }))

/** Inserts those of the rows that no unique index refuses, as insertRows does, and answers their ids. */
export const insertNew = async <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  rows: Rows,
): Promise<ReadonlySet<string>> => {
  const made = await insert(em, entity, { rows, tail: 'on conflict do nothing returning id' })
  return new Set(made.map(({ id }) => id))
}

/** Inserts a few rows with these members by one statement, also when there are none. */
export const insertSome = async <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  some: Pick<Inserted, 'rows' | 'members'>,
): Promise<void> => void (await insertAtOnce(em, entity, some))

/** Rows of one table among those of others. */
export type RowsOf = readonly [entity: EntityClass<object>, rows: Rows]

/** Inserts rows of several tables by one statement, some hundreds of each at most; a table without rows is left out. */
export const insertTogether = async (em: EntityManager, all: readonly RowsOf[]): Promise<void> => {
  const parts = all
    .filter(([, rows]) => rows.length > 0)
    .map(([entity, rows], index) =>
      insertionOf(em, entity, { rows, members: Object.keys(rows[0] ?? {}), parameter: index + 1 }),
    )
  if (parts.length === 0) return
  const named = parts.map(({ sql }, index) => `part_${index} as (${sql})`)
  const values = parts.map(({ json }) => json)
  await inserting(`with ${named.join(', ')} select null as id`).all(em, values)
}
