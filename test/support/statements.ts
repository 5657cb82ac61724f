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
  const total = async (): Promise<number> => {
    const { rows } = await admin.query<{ calls: string | null }>(`select sum(s.calls) as calls ${filter}`, values)
    return Number(rows[0]?.calls ?? 0)
  }
  const texts = async (): Promise<Map<string, number>> => {
    const { rows } = await admin.query<{ query: string; calls: string }>(`select s.query, s.calls ${filter}`, values)
    return new Map(rows.map(({ query, calls }) => [query, Number(calls)]))
  }
  return {
    /** How many statements were executed while this work was done, and its result. */
    during: async <T>(work: () => Promise<T>): Promise<{ result: T; count: number }> => {
      const before = await total()
      const result = await work()
      return { result, count: (await total()) - before }
    },
    /** Which ones, and how often each. */
    listed: async (work: () => Promise<unknown>): Promise<[string, number][]> => {
      const before = await texts()
      await work()
      const more = [...(await texts())].map(([text, calls]): [string, number] => [
        text,
        calls - (before.get(text) ?? 0),
      ])
      return more.filter(([, calls]) => calls > 0)
    },
    close: () => admin.end(),
  }
}

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
