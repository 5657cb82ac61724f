// The plans of the statements that one call sends.
import type { MikroORM } from '@mikro-orm/postgresql'
import type { Client } from 'pg'
import { sizes } from './search-fill.ts'

/** One statement of a call, and how the database runs it. */
export interface Plan {
  readonly text: string
  /** The large tables that it reads from end to end. */
  readonly sequential: readonly string[]
}

const large: Readonly<Record<string, number>> = {
  certificate: sizes.certificates,
  cert_request: sizes.certificates,
  permission_grant: sizes.certificates,
  end_entity: sizes.endEntities,
  app_user: sizes.users,
}
const scan = /Seq Scan on (\w+)[^(]*\(actual rows=([\d.]+) loops=(\d+)\)([^]*?)(?=->|\nPlanning)/g
const removed = /Rows Removed by Filter: (\d+)/

/** The large tables of which a plan reads most rows one after the other; a scan that soon has enough is none. */
const sequentialScans = (plan: string): string[] =>
  [...plan.matchAll(scan)].flatMap(([, table = '', rows, loops, rest = '']) => {
    const read = (Number(rows) + Number(removed.exec(rest)?.[1] ?? 0)) * Number(loops)
    return read > (large[table] ?? Infinity) / 2 ? [table] : []
  })

/** The statements that a call sends, with their values in place. */
const statementsOf = async (orm: MikroORM, call: () => Promise<unknown>): Promise<string[]> => {
  const logger = orm.config.getLogger()
  const statements: string[] = []
  const usual = logger.logQuery.bind(logger)
  logger.logQuery = context =>
    void statements.push(String((context as { formatted?: string }).formatted ?? context.query))
  logger.setDebugMode(['query'])
  await call()
  logger.setDebugMode(false)
  logger.logQuery = usual
  return statements
}

/** Runs a call and explains each of its statements that reads. */
export const explain = async (
  { orm, client }: { orm: MikroORM; client: Client },
  { name, call }: { name: string; call: () => Promise<unknown> },
): Promise<Plan[]> => {
  // Prepared statements are told without their values; they find few rows by an index (storage/statement.ts).
  const isSearch = (statement: string): boolean => /^\s*(select|with)/i.test(statement) && !/\$\d/.test(statement)
  const statements = (await statementsOf(orm, call)).filter(isSearch)
  const plans: Plan[] = []
  for (const statement of statements) {
    const { rows } = await client.query<Record<string, string>>(`explain (analyze, costs off, timing off) ${statement}`)
    const plan = rows.flatMap(row => Object.values(row)).join('\n')
    plans.push({ text: `## ${name}\n${statement}\n\n${plan}\n`, sequential: sequentialScans(plan) })
  }
  return plans
}
