// Storing thousands of rows in a few statements: PostgreSQL reads them from one JSON text, which costs this process little.
import type { EntityClass, EntityManager } from '@mikro-orm/postgresql'

/** Rows in one statement: some megabytes of text at most where rows hold certificates. */
const atOnce = 1000

/** How a value stands in JSON where JSON has no form of its own for it. */
const jsonForm = (value: unknown): unknown =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value

type Rows = readonly Readonly<Record<string, unknown>>[]

const columnsOf = <T extends object>(em: EntityManager, entity: EntityClass<T>, members: readonly string[]) => {
  const { tableName, properties } = em.getMetadata(entity)
  const nameOf = (member: string) => properties[member as keyof typeof properties].fieldNames[0] ?? member
  return { tableName, columns: members.map(nameOf) }
}

const insert = async <T extends object>(
  em: EntityManager,
  entity: EntityClass<T>,
  { rows, tail = '' }: { rows: Rows; tail?: string },
): Promise<{ id: string }[]> => {
  const members = Object.keys(rows[0] ?? {})
  const { tableName, columns } = columnsOf(em, entity, members)
  const list = columns.map(column => `"${column}"`).join(', ')
  const answers: { id: string }[] = []
  for (let start = 0; start < rows.length; start += atOnce) {
    const records = rows
      .slice(start, start + atOnce)
      .map(row => Object.fromEntries(members.map((member, index) => [columns[index], jsonForm(row[member])])))
    const answer = await em.execute<{ id: string }[]>(
      `insert into "${tableName}" (${list}) select ${list} from json_populate_recordset(null::"${tableName}", ?::json) ${tail}`,
      [JSON.stringify(records)],
    )
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
