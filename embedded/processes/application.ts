// Starts the processes of the application as child processes: the migration, then worker, REST API and SCEP gateway; and a
// device that enrols at the last.
import { request } from 'node:https'
import { join } from 'node:path'
import {
  type GatewayCredentials,
  type ScepClientEnvironment,
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

/** Starts the SCEP gateway as an API client. */
export const startScepGateway = (
  installation: Installation,
  started: Started,
  client: GatewayCredentials,
): RunningProcess => {
  const environment = scepGatewayEnvironment(started, client)
  return launch(installation, { name: 'SCEP gateway', room: 'scep-gateway', environment })
}

/** Starts the REST API. */
export const startApi = (installation: Installation, started: Started): RunningProcess =>
  launch(installation, { name: 'API', room: 'api', environment: apiEnvironment(started) })

/** Waits until the REST API says that it and all it needs are ready. */
export const apiReady = (api: RunningProcess, baseUrl: string): Promise<void> =>
  until({ part: api, timeoutMs: readyTimeoutMs }, async () => {
    const { ok, status } = await fetch(`${baseUrl}/health/ready`)
    if (!ok) throw new Error(`/health/ready answers ${status}`)
  })

// The certificate is one that the gateway made for itself.
const statusOf = (url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { rejectUnauthorized: false }, response => {
      response.resume()
      resolve(response.statusCode)
    })
    asked.on('error', reject)
    asked.end()
  })

/** Waits until the SCEP gateway says that it and the API behind it are ready. */
export const gatewayReady = (gateway: RunningProcess, scepUrl: string): Promise<void> =>
  until({ part: gateway, timeoutMs: readyTimeoutMs }, async () => {
    const status = await statusOf(`${scepUrl}/health/ready`)
    if (status !== 200) throw new Error(`/health/ready answers ${status}`)
  })

/** Lets a device enrol over SCEP; throws with the end of its log when it got no certificate. */
export const enrolDevice = async (installation: Installation, environment: ScepClientEnvironment): Promise<void> => {
  const device = launch(installation, { name: 'The SCEP device', room: 'scep-client', environment })
  const reason = await device.exited
  if (!device.succeeded())
    throw new Error(`${reason}. Its log is ${device.logFile}, which ends with:\n${device.lastLines()}`)
}
