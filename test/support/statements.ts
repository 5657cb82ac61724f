// How many statements the server has executed for a role in a database: from its own statistics (pg_stat_statements).
import { Client } from 'pg'
import { stack } from './stack.ts'

/** What the settings are read again by, which an installation keeps in memory and tests do not. */
const settingsAgain = `%from "setting"%"settings_key" in %`

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
    where r.rolname = $1 and d.datname = $2 and s.query not like $3`
  const values = [decodeURIComponent(username), pathname.slice(1), settingsAgain]
  const total = async (): Promise<number> => {
    const { rows } = await admin.query<{ calls: string | null }>(`select sum(s.calls) as calls ${filter}`, values)
    return Number(rows[0]?.calls ?? 0)
  }
  const texts = async (): Promise<Map<string, number>> => {
    const { rows } = await admin.query<{ query: string; calls: string }>(`select s.query, s.calls ${filter}`, values)
    return new Map(rows.map(({ query, calls }) => [query, Number(calls)]))
  }
  return {
    /** How many statements were executed while this work was done. */
    during: async (work: () => Promise<unknown>): Promise<number> => {
      const before = await total()
      await work()
      return (await total()) - before
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
