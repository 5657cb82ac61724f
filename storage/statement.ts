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

interface Querying {
  query: (text: unknown, ...rest: unknown[]) => unknown
}

/** Has each connection of a pool prepare the statements of this file under their names. */
export const prepareStatements = (pool: Pool): void => {
  pool.on('connect', client => {
    const connection = client as unknown as Querying
    const query = connection.query.bind(connection)
    connection.query = (text, ...rest) => {
      const name = typeof text === 'string' ? names.get(text) : undefined
      return name === undefined ? query(text, ...rest) : query({ name, text, values: rest[0] }, ...rest.slice(1))
    }
  })
}
