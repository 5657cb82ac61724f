// Writes a migration for what the entities have and the migrations do not: node scripts/new-migration.mjs <name>.
// It needs an empty PostgreSQL database that it may fill: DATABASE_URL.
import { openStorage } from '../storage/orm.ts'

const [name] = process.argv.slice(2)
const url = process.env['DATABASE_URL']
if (!name || !url) {
  console.error('Usage: DATABASE_URL=<an empty database> node scripts/new-migration.mjs <name>')
  process.exit(2)
}
const orm = await openStorage({ url })
await orm.migrator.up()
const { fileName } = await orm.migrator.create(undefined, false, false, name)
await orm.close()
console.log(fileName ? `storage/migrations/${fileName}` : 'The migrations have everything that the entities have.')
