// How many statements the server has executed for a role in a database: from its own statistics (pg_stat_statements).
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Client } from 'pg'
import { stack } from './stack.ts'

/** What depends on time: settings, which an installation keeps in memory and tests do not, and looks at a slow run. */
const uncounted = ['%from "setting"%"settings_key" in %', 'select id as "certRequestId", certificate_id%']

const install = async (admin: Client): Promise<void> => {
  await admin.query('select pg_advisory_lock(7234003)')
  await admin.query('create extension if not exists pg_stat_statements')
  await admin.query('select pg_advisory_unlock(7234003)')
}

/** Counts what the role of a connection string executes in its database. */
export const statementCounter = async (url: string) => {
  const { username, pathname } = new URL(url)
  const admin = new Client({ connectionString: stack.databaseAdminUrl() })
  await admin.connect()
  await install(admin)
  const filter = `from pg_stat_statements s join pg_roles r on r.oid = s.userid join pg_database d on d.oid = s.dbid
    where r.rolname = $1 and d.datname = $2 and not s.query like any ($3)`
  const values = [decodeURIComponent(username), pathname.slice(1), uncounted]
  const texts = async (): Promise<Map<string, number>> => {
    const { rows } = await admin.query<{ query: string; calls: string }>(
      `select s.query, sum(s.calls) as calls ${filter} group by s.query`,
      values,
    )
    return new Map(rows.map(({ query, calls }) => [query, Number(calls)]))
  }
  return {
    /** What was executed while this work was done, each statement as often as it was, and the result of the work. */
    during: async <T>(work: () => Promise<T>): Promise<{ result: T; statements: string[] }> => {
      const before = await texts()
      const result = await work()
      const statements = [...(await texts())].flatMap(([text, calls]) =>
        Array.from({ length: Math.max(0, calls - (before.get(text) ?? 0)) }, () => text),
      )
      return { result, statements }
    },
    close: () => admin.end(),
  }
}

/** The statements where they are more than so many: what a test that fails tells. */
export const beyond = (most: number, statements: readonly string[]): readonly string[] =>
  statements.length > most ? statements : []

const file = new URL('../../bench/results/statements.json', import.meta.url)

const recorded = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, number>>) : {}

/** The statements that the example of an operation takes at most, as the bench has recorded them. */
export const statementsOf = (operationId: string): number => {
  const count = recorded[operationId]
  if (count === undefined) throw new Error(`${operationId} has no count in bench/results/statements.json.`)
  return count
}

/** Keeps the counts by operationId, in a stable order. */
export const keepStatements = (counts: ReadonlyMap<string, number>): void => {
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}
