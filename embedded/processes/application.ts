// Starts the processes of the application as child processes: the migration, then worker, SCEP gateway and REST API.
import { join } from 'node:path'
import {
  type Started,
  apiEnvironment,
  migrationEnvironment,
  scepGatewayEnvironment,
  workerEnvironment,
} from '../environment.ts'
import { type RunningProcess, startProcess } from './process.ts'
import { until } from './until.ts'

const readyTimeoutMs = 60_000
const checkout = join(import.meta.dirname, '../..')

// What of our own environment a process of ours may see: the variables of the system, none of the settings.
const passedOn = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS']
const systemEnvironment = (): NodeJS.ProcessEnv => Object.fromEntries(passedOn.map(name => [name, process.env[name]]))

/** Where the processes are started from and where their logs go. */
export interface Installation {
  /** The folder that holds the rooms and node_modules; this checkout when left out. */
  readonly folder?: string
  readonly logFolder: string
}

interface Room {
  readonly name: string
  readonly room: string
  readonly environment: object
}

const launch = ({ folder = checkout, logFolder }: Installation, { name, room, environment }: Room): RunningProcess =>
  startProcess({
    name,
    command: [process.execPath, '--enable-source-maps', join(folder, room, 'main.ts')],
    folder,
    environment: { ...systemEnvironment(), ...environment },
    logFile: join(logFolder, `${room}.log`),
  })

/** Brings the schema up to date as its owner; throws with the end of the log when that failed. */
export const migrateStorage = async (installation: Installation, started: Started): Promise<void> => {
  const environment = migrationEnvironment(started)
  const migration = launch(installation, { name: 'Migration of the database', room: 'storage', environment })
  const reason = await migration.exited
  if (!migration.succeeded())
    throw new Error(`${reason}. Its log is ${migration.logFile}, which ends with:\n${migration.lastLines()}`)
}

/** Starts the worker. */
export const startWorker = (installation: Installation, started: Started): RunningProcess =>
  launch(installation, { name: 'Worker', room: 'worker', environment: workerEnvironment(started) })

/** Starts the SCEP gateway. */
export const startScepGateway = (installation: Installation, started: Started): RunningProcess =>
  launch(installation, { name: 'SCEP gateway', room: 'scep-gateway', environment: scepGatewayEnvironment(started) })

/** Starts the REST API. */
export const startApi = (installation: Installation, started: Started): RunningProcess =>
  launch(installation, { name: 'API', room: 'api', environment: apiEnvironment(started) })

/** Waits until the REST API says that it and all it needs are ready. */
export const apiReady = (api: RunningProcess, baseUrl: string): Promise<void> =>
  until({ part: api, timeoutMs: readyTimeoutMs }, async () => {
    const { ok, status } = await fetch(`${baseUrl}/health/ready`)
    if (!ok) throw new Error(`/health/ready answers ${status}`)
  })
