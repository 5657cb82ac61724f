// The database: whether it answers, as whom we come, and whether its schema is the one of this version.
import type { MikroORM } from '@mikro-orm/postgresql'
import { databaseCondition, pendingMigrations } from '../../storage/condition.ts'
import { inspectRole } from '../../storage/roles.ts'
import { failed, ok, warning, type Check } from '../check.ts'

/** SQL functions with a body of their own came with this version. */
const oldestVersion = 140_000

/** The name of the check that all others of the database need. */
export const database = 'database'

const rolesAdvice = 'Part the roles as docs/operations.md says under "Database roles".'
const migrateAdvice = 'Run node storage/main.ts of this version (docs/operations.md, "Database roles").'

/** The checks of the database. */
export const databaseChecks = (orm: MikroORM): readonly Check[] => [
  {
    name: database,
    advice: 'Is PostgreSQL running, and are address, role and password in DATABASE_URL right?',
    look: async () => {
      const { version, versionNumber } = await databaseCondition(orm)
      if (versionNumber >= oldestVersion) return ok(`PostgreSQL ${version} answers`)
      return failed(`PostgreSQL ${version} is too old`, 'Move to PostgreSQL 14 or newer; 18 is what we test with.')
    },
  },
  {
    name: 'migrations',
    after: database,
    advice: migrateAdvice,
    look: async () => {
      const pending = await pendingMigrations(orm)
      return pending.length === 0
        ? ok('the schema is up to date')
        : failed(`${pending.length} migrations are missing, the first is ${pending[0]}`, migrateAdvice)
    },
  },
  {
    name: 'database role',
    after: 'migrations',
    advice: rolesAdvice,
    look: async () => {
      const { role, usable, faults } = await inspectRole(orm)
      if (!usable) return failed(`the role ${role} may not use the tables`, migrateAdvice)
      return faults.length === 0
        ? ok(`the role ${role} may read and write rows, no more`)
        : warning(`the role ${role} may do too much: ${faults.join('; ')}`, rolesAdvice)
    },
  },
]
