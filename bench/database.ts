// A database of a bench's own: a PostgreSQL server below a folder, with the schema and a connection to fill it.
import { mkdirSync } from 'node:fs'
import { Client } from 'pg'
import { freePort } from '../embedded/processes/ports.ts'
import { startPostgres } from '../embedded/servers/postgres.ts'
import { migrate, openStorage } from '../storage/orm.ts'

/** Starts the server; what is in the folder from an earlier run is there again. */
export const openDatabase = async (folder: string) => {
  mkdirSync(folder, { recursive: true })
  const server = await startPostgres({
    folder: `${folder}/postgres`,
    port: await freePort(),
    password: 'bench',
    durable: false,
    logFile: `${folder}/postgres.log`,
    databases: ['bench'],
  })
  const url = server.url('bench')
  const orm = await openStorage({ url })
  await migrate(orm)
  const client = new Client({ connectionString: url })
  await client.connect()
  const stop = async (): Promise<void> => {
    await client.end()
    await orm.close()
    await server.stop()
  }
  return { orm, client, stop }
}

/** An open database. */
export type Database = Awaited<ReturnType<typeof openDatabase>>
