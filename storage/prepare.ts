// What a process does with the schema before it works: it is brought up to date by the role that owns it, and the role of
// the process is looked at.
import type { MikroORM } from '@mikro-orm/postgresql'
import { migrate, migrateFor, openStorage } from './orm.ts'
import { inspectRole, roleIn, type RoleReport } from './roles.ts'

/** The connection of a process and, where it has one, that of the role that owns the schema. */
export interface Preparation {
  readonly url: string
  /** Absent: another process migrates, or the role of `url` does, as a role for everything. */
  readonly migrationUrl?: string | undefined
  /** Told what is wrong with the role of `url` where nobody asked for two roles. */
  readonly warn: (text: string) => void
}

/** Brings the schema up to date as its owner, and lets the role of the other connection string use it. */
export const migrateAs = async (migrationUrl: string, url: string): Promise<void> => {
  const orm = await openStorage({ url: migrationUrl, connections: 2 })
  try {
    await migrateFor(orm, roleIn(url))
  } finally {
    await orm.close()
  }
}

const advice =
  'Let a role of its own migrate (MIGRATION_DATABASE_URL, or `node storage/main.ts` before the start): docs/operations.md.'

/** What PostgreSQL says to a role without the right (insufficient_privilege). */
const isDenied = (error: unknown): error is Error => error instanceof Error && 'code' in error && error.code === '42501'

const migrateIfPending = async (orm: MikroORM): Promise<void> => {
  if ((await orm.migrator.getPending()).length > 0) await migrate(orm)
}

const migrateMyself = async (orm: MikroORM, role: string): Promise<void> => {
  await migrateIfPending(orm).catch((error: unknown) => {
    if (!isDenied(error)) throw error
    const text = `The schema is not up to date, and the role ${role} cannot change it (${error.message}). ${advice}`
    throw new Error(text, { cause: error })
  })
}

const mustBeUsable = ({ role, usable }: RoleReport): void => {
  if (usable) return
  throw new Error(
    `The role ${role} may not use the tables: migrate with its DATABASE_URL, which grants that. ${advice}`,
  )
}

const judge = ({ role, faults }: RoleReport, { migrationUrl, warn }: Preparation): void => {
  if (faults.length === 0) return
  const text = `The database role ${role} of this process may do too much: ${faults.join('; ')}. ${advice}`
  if (migrationUrl !== undefined) throw new Error(text)
  warn(text)
}

/** Prepares the schema, or says what is wrong: with a role that migrates, a process role that may do more is refused. */
export const prepareSchema = async (orm: MikroORM, preparation: Preparation): Promise<void> => {
  const { url, migrationUrl } = preparation
  if (migrationUrl === undefined) await migrateMyself(orm, roleIn(url))
  else await migrateAs(migrationUrl, url)
  const report = await inspectRole(orm)
  mustBeUsable(report)
  judge(report, preparation)
}
