// Wraps everything that is sealed under the first of MASTER_KEYS; then the others can be retired:
// DATABASE_URL=… MASTER_KEYS=<new>,<old> node scripts/rewrap-keys.mjs
import { openStorage } from '../storage/orm.ts'
import { rewrapKeys } from '../storage/rewrap.ts'
import { parseKeys, Seal } from '../storage/seal.ts'

const { DATABASE_URL: url, MASTER_KEYS: keys } = process.env
if (!url || !keys) {
  console.error('Usage: DATABASE_URL=… MASTER_KEYS=<new>,<old> node scripts/rewrap-keys.mjs')
  process.exit(2)
}
const orm = await openStorage({ url })
console.log(`${await rewrapKeys(orm.em, new Seal(parseKeys(keys)))} keys were wrapped under the active master key.`)
await orm.close()
