// Writes a migration for what the entities have and the migrations do not: node scripts/new-migration.mjs <name>.
// It compares them in a PostgreSQL server of its own, which it removes afterwards.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../embedded/processes/ports.ts'
import { startPostgres } from '../embedded/servers/postgres.ts'
import { migrate, openStorage } from '../storage/orm.ts'

const withDatabase = async work => {
  const folder = mkdtempSync(join(tmpdir(), 'certwright-migration-'))
  chmodSync(folder, 0o755) // PostgreSQL's account must be able to enter it
  const files = { folder: join(folder, 'postgres'), logFile: join(folder, 'postgres.log') }
  try {
    const server = await startPostgres({ ...files, port: await freePort(), password: 'draft', durable: false })
    await work(server.url('postgres')).finally(server.stop)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const writeMigration = name => async url => {
  const orm = await openStorage({ url })
  try {
    await migrate(orm)
    const { fileName } = await orm.migrator.create(undefined, false, false, name)
    console.log(fileName ? `storage/migrations/${fileName}` : 'The migrations have everything that the entities have.')
  } finally {
    await orm.close()
  }
}

const [name] = process.argv.slice(2)
if (!name) {
  console.error('Usage: node scripts/new-migration.mjs <name>')
  process.exit(2)
}
await withDatabase(writeMigration(name))
