// The migration process: brings the schema up to date as its owner, lets the role of API and worker use it, seals anew
// what has an older form, and ends. It runs before API and worker start, and alone has the owner's password.
import { z } from 'zod'
import { MigrationConfig } from './config.ts'
import { openStorage } from './orm.ts'
import { migrateAs } from './prepare.ts'
import { rewrapKeys } from './rewrap.ts'
import { Seal } from './seal.ts'

const parsed = MigrationConfig.safeParse(process.env)
if (!parsed.success) {
  console.error(`The configuration of the migration is wrong:\n${z.prettifyError(parsed.error)}`)
  process.exit(2)
}
const { MIGRATION_DATABASE_URL, DATABASE_URL, MASTER_KEYS, CA_MASTER_KEYS } = parsed.data

/** What cannot be sealed anew is told and left: it opens nowhere, and the rest of the service works. */
const renewSeals = async (seal: Seal): Promise<void> => {
  const orm = await openStorage({ url: MIGRATION_DATABASE_URL, connections: 2 })
  const { wrapped, refused } = await rewrapKeys(orm.em, seal)
  await orm.close()
  if (wrapped > 0) console.log(`${wrapped} secrets were sealed anew.`)
  for (const reason of refused) console.error(`Left as it is: ${reason}`)
}

await migrateAs(MIGRATION_DATABASE_URL, DATABASE_URL)
console.log('The schema is up to date.')
if (MASTER_KEYS) await renewSeals(new Seal(MASTER_KEYS, CA_MASTER_KEYS))
