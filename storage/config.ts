// The configuration of the migration process: the environment, read once by main.ts.
import { z } from 'zod'
import { parseKeys } from './seal.ts'

/** Keys as text, `<id>:<base64 of 32 bytes>`, comma separated; the first seals, all open. */
export const KeyList = z.string({ error: 'is required' }).transform((text, context) => {
  try {
    return parseKeys(text)
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'unreadable' })
    return z.NEVER
  }
})

/** The settings of the migration process. */
export const MigrationConfig = z.object({
  /** The database as the role that owns the schema. */
  MIGRATION_DATABASE_URL: z.url(),
  /** The database as the role of API and worker, which is allowed to use the tables. */
  DATABASE_URL: z.url(),
  /** As of API and worker; present, what has an older form or an older key is sealed anew after the migrations. */
  MASTER_KEYS: KeyList.optional(),
  /** As of the worker. */
  CA_MASTER_KEYS: z.preprocess(text => text || undefined, KeyList.optional()),
})
