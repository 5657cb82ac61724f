// Starts the embedded PostgreSQL server and makes its databases.
import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
  chownSync,
  chmodSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { makeDataFolder, postgresAccount, postgresPrograms } from './postgres-place.ts'
import { type RunningProcess, startProcess } from '../processes/process.ts'
import { until } from '../processes/until.ts'

/** Where PostgreSQL keeps its data and how it is reached. */
export interface PostgresSettings {
  readonly folder: string
  readonly port: number
  readonly password: string
  readonly logFile: string
  /** False trades safety against power loss for speed: for tests. */
  readonly durable: boolean
  /** Databases that exist once the server is ready. */
  readonly databases?: readonly string[]
  /** The password of a role that may log in and owns nothing; left out, there is none. */
  readonly servicePassword?: string
}

/** A running PostgreSQL server. */
export interface Postgres extends RunningProcess {
  /** The connection string of a database of this server, as its administrator. */
  readonly url: (database: string) => string
  /** The same as the role that owns nothing. */
  readonly serviceUrl: (database: string) => string
}

const user = 'certwright'
const serviceUser = 'certwright_service'
const readyTimeoutMs = 60_000
const run = promisify(execFile)

const fastSettings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum_naptime=10min']
const baseSettings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=300',
  'shared_buffers=128MB',
  // What bench/ and the tests count statements by.
  'shared_preload_libraries=pg_stat_statements',
  // Many databases of many tests: what is pushed out would be counted wrong.
  'pg_stat_statements.max=50000',
]

// initdb is not atomic: a marker written last tells a finished cluster from one that a power cut left half made.
const marker = (folder: string): string => join(folder, 'certwright-ready')

const passwordFile = (password: string): { folder: string; file: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'certwright-'))
  const file = join(folder, 'password')
  writeFileSync(file, password, { mode: 0o600 })
  return { folder, file }
}

const createCluster = async ({ folder, password, durable }: PostgresSettings): Promise<void> => {
  const account = postgresAccount()
  makeDataFolder(account, folder)
  const secret = passwordFile(password)
  if (account) {
    chownSync(secret.file, account.uid, account.gid)
    chmodSync(secret.folder, 0o711)
  }
  const options = ['-U', user, '-A', 'scram-sha-256', `--pwfile=${secret.file}`, '-E', 'UTF8', '--locale=C']
  const locale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const sync = durable ? [] : ['--no-sync']
  try {
    const initdb = join(postgresPrograms(account), 'initdb')
    await run(initdb, ['-D', realpathSync(folder), ...options, ...locale, ...sync], { ...account, cwd: '/' })
  } finally {
    rmSync(secret.folder, { recursive: true })
  }
  writeFileSync(marker(folder), '')
}

const commandLineOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

// After a crash the pid in postmaster.pid may belong to any other process, which would block the start for ever.
const clearStalePid = async (folder: string): Promise<void> => {
  const file = join(folder, 'postmaster.pid')
  if (!existsSync(file) || !existsSync('/proc/self/cmdline')) return
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
  const ours = () => commandLineOf(pid).includes(folder)
  if (ours()) process.kill(pid, 'SIGINT')
  for (let tries = 0; ours() && tries < 100; tries++) await wait(100)
  if (ours()) process.kill(pid, 'SIGKILL')
  rmSync(file, { force: true })
}

const connected = async <T>(url: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const createDatabases = (url: string, names: readonly string[]): Promise<void> =>
  connected(url, async client => {
    for (const name of names) {
      const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
      if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`)
    }
  })

const createServiceRole = (url: string, password: string): Promise<void> =>
  connected(url, async client => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [serviceUser])
    const verb = rowCount === 0 ? 'CREATE' : 'ALTER'
    await client.query(`${verb} ROLE ${serviceUser} LOGIN PASSWORD ${client.escapeLiteral(password)}`)
  })

const launch = ({ folder, port, durable, logFile }: PostgresSettings): RunningProcess => {
  const account = postgresAccount()
  const settings = [...baseSettings, ...(durable ? [] : fastSettings)].flatMap(setting => ['-c', setting])
  return startProcess({
    name: 'PostgreSQL',
    command: [join(postgresPrograms(account), 'postgres'), '-D', realpathSync(folder), '-p', String(port), ...settings],
    logFile,
    account,
    stopSignal: 'SIGINT',
  })
}

// Backends outlive a killed server for a moment and hold its shared memory: the next start has to wait for them.
const maxAttempts = 20
const attemptPauseMs = 500

const startServer = async (settings: PostgresSettings, url: string, attempt = 1): Promise<RunningProcess> => {
  const server = launch(settings)
  try {
    await until({ part: server, timeoutMs: readyTimeoutMs }, () => connected(url, client => client.query('SELECT 1')))
    return server
  } catch (error) {
    await server.stop()
    const busy = /pre-existing shared memory block|lock file .* already exists/.test(server.lastLines())
    if (!busy || attempt === maxAttempts) throw error
  }
  await wait(attemptPauseMs)
  return startServer(settings, url, attempt + 1)
}

/** Starts PostgreSQL on a data folder, which is made when it is not there, and waits until it answers. */
export const startPostgres = async (settings: PostgresSettings): Promise<Postgres> => {
  if (!existsSync(marker(settings.folder))) await createCluster(settings)
  await clearStalePid(realpathSync(settings.folder))
  const { password, servicePassword } = settings
  const urlAs = (role: string, secret: string) => (database: string) =>
    `postgresql://${role}:${encodeURIComponent(secret)}@127.0.0.1:${settings.port}/${database}`
  const url = urlAs(user, password)
  const server = await startServer(settings, url('postgres'))
  await createDatabases(url('postgres'), settings.databases ?? [])
  if (servicePassword !== undefined) await createServiceRole(url('postgres'), servicePassword)
  return { ...server, url, serviceUrl: urlAs(serviceUser, servicePassword ?? '') }
}
