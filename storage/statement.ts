// The door for statements that run often: written once, prepared once a connection under a name, their values sent apart
// from the text. What MikroORM would build anew for every call (query, identity map, change set) is left out.
import { createHash } from 'node:crypto'
import { CompiledQuery, type Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { EntityManager } from '@mikro-orm/postgresql'

/** The names of statements by their text. There are as many as the code writes, however often they run. */
const names = new Map<string, string>()

/** Far more than the code writes; where the text depends on which members are given, what comes later is not prepared. */
const mostNames = 1000

/** A statement with `$1`, `$2` … for its values. */
export interface Statement<Row> {
  /** Runs it in the transaction of an EntityManager, else by itself; errors are those that MikroORM throws. */
  readonly all: (em: EntityManager, values: readonly unknown[]) => Promise<Row[]>
}

const run = async <Row>(em: EntityManager, sql: string, values: readonly unknown[]): Promise<Row[]> => {
  const executor = em.getTransactionContext<Kysely<unknown>>() ?? em.getConnection().getClient()
  try {
    const { rows } = await executor.executeQuery(CompiledQuery.raw(sql, [...values]))
    em.config.getLogger().logQuery({ query: sql, results: rows.length })
    return rows as Row[]
  } catch (error) {
    throw em
      .getPlatform()
      .getExceptionConverter()
      .convertException(error as Error)
  }
}

/** Writes a statement; only of texts that the code decides, never of what a caller sends. */
export const statement = <Row extends object>(sql: string): Statement<Row> => {
  if (names.size < mostNames) names.set(sql, createHash('sha256').update(sql).digest('base64url').slice(0, 24))
  return { all: (em, values) => run<Row>(em, sql, values) }
}

/**
 * The values of an array parameter, as in `id = ${anyOf('$1::uuid[]')}`, without telling the planner how many they are: where it
 * sees one value only it finds a plan for one, thinks it better than one for any number, and plans each execution anew, which
 * takes longer than most statements. For those that find rows by an index, however many; searches are better planned each time.
 */
export const anyOf = (parameter: `$${number}::${string}[]`): string =>
  `any((select ${parameter})::${parameter.replace(/^.*::/, '')})`

/** Statements by a key, each written when it is first needed; so many are kept at most. */
export class Statements<Row extends object> {
  readonly #kept = new Map<string, Statement<Row>>()
  readonly #most: number

  constructor(most = 200) {
    this.#most = most
  }

  /** The statement of a key, else the one of this text. */
  get(key: string, text: () => string): Statement<Row> {
    const kept = this.#kept.get(key)
    if (kept) return kept
    const made = statement<Row>(text())
    if (this.#kept.size < this.#most) this.#kept.set(key, made)
    return made
  }
}

interface Connection {
  query: (text: unknown, ...rest: unknown[]) => unknown
  readonly end: () => Promise<void>
}

/** What begins a transaction or ends one without its changes; not what goes back to a savepoint. */
const isBoundary = (text: unknown): boolean =>
  typeof text === 'string' && /^(begin|start transaction|rollback$)/.test(text)

/**
 * Kysely never gives back a connection whose `begin` or `rollback` failed: once a pool has lost all of its connections so, by a
 * server that was started again, whoever asks waits for ever. So neither fails, and the connection ends with it: after such a
 * `begin` the first statement fails instead, and a connection that has ended is rolled back.
 */
const ending = async (connection: Connection, asked: unknown): Promise<unknown> => {
  try {
    return await asked
  } catch {
    void connection.end().catch(() => undefined)
    return { command: '', rowCount: 0, rows: [] }
  }
}

/** Has each connection of a pool prepare the statements of this file under their names, and none stay behind when it is lost. */
export const prepareConnections = (pool: Pool): void => {
  pool.on('connect', client => {
    const connection = client as unknown as Connection
    const query = connection.query.bind(connection)
    connection.query = (text, ...rest) => {
      if (isBoundary(text)) return ending(connection, query(text, ...rest))
      const name = typeof text === 'string' ? names.get(text) : undefined
      return name === undefined ? query(text, ...rest) : query({ name, text, values: rest[0] }, ...rest.slice(1))
    }
  })
}
