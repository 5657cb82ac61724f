// Wraps everything that is sealed under the first of MASTER_KEYS (CA keys: of CA_MASTER_KEYS, where it is set) and seals
// anew what has the old form; then the other keys can be retired. May be broken off and repeated.
// MIGRATION_DATABASE_URL=… MASTER_KEYS=<new>,<old> [CA_MASTER_KEYS=<new>,<old>] node scripts/rewrap-keys.mjs
import { openStorage } from '../storage/orm.ts'
import { rewrapKeys } from '../storage/rewrap.ts'
import { parseKeys, Seal } from '../storage/seal.ts'

const { MIGRATION_DATABASE_URL, DATABASE_URL, MASTER_KEYS: keys, CA_MASTER_KEYS: caKeys } = process.env
const url = MIGRATION_DATABASE_URL || DATABASE_URL
if (!url || !keys) {
  console.error(
    'Usage: MIGRATION_DATABASE_URL=… MASTER_KEYS=<new>,<old> [CA_MASTER_KEYS=…] node scripts/rewrap-keys.mjs',
  )
  process.exit(2)
}
const orm = await openStorage({ url })
const seal = new Seal(parseKeys(keys), caKeys ? parseKeys(caKeys) : undefined)
const { wrapped, refused } = await rewrapKeys(orm.em, seal)
console.log(`${wrapped} secrets were wrapped under the active master key.`)
for (const reason of refused) console.error(`Left as it is: ${reason}`)
if (refused.length > 0) process.exitCode = 1
await orm.close()
