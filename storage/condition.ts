// What an operator asks of the database itself: its version, its clock, and the migrations that it has not seen.
import type { MikroORM } from '@mikro-orm/postgresql'

/** A database as it is. */
export interface DatabaseCondition {
  /** As `server_version` says it. */
  readonly version: string
  /** The version as a number, 180004 for 18.4. */
  readonly versionNumber: number
  readonly now: Date
}

/** Looks at the server. */
export const databaseCondition = async (orm: MikroORM): Promise<DatabaseCondition> => {
  const [row] = await orm.em.fork().execute<{ version: string; number: number; now: Date | string }[]>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
            clock_timestamp() as now`,
  )
  if (row === undefined) throw new Error('The database answered no row.')
  return { version: row.version, versionNumber: row.number, now: new Date(row.now) }
}

/** The names of the migrations of this version that the database lacks. */
export const pendingMigrations = async (orm: MikroORM): Promise<string[]> =>
  (await orm.migrator.getPending()).map(({ name }) => name)
