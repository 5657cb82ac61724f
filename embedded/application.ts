// Starts the three processes of the application as child processes: worker, SCEP gateway, REST API.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Started, apiEnvironment, scepGatewayEnvironment, workerEnvironment } from './environment.ts'
import { type RunningProcess, startProcess } from './process.ts'
import { until } from './until.ts'

const READY_MS = 60_000
const ROOT = join(import.meta.dirname, '..')

// What of our own environment a process of ours may see: the variables of the system, none of the settings.
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS']
const passedOn = () => Object.fromEntries(PASSED_ON.map(name => [name, process.env[name]]))

interface Room {
  readonly name: string
  readonly main: string
  readonly environment: object
}

const launch = (logFolder: string, { name, main, environment }: Room) =>
  startProcess({
    name,
    command: [process.execPath, '--enable-source-maps', join(ROOT, main)],
    environment: { ...passedOn(), ...environment },
    logFile: join(logFolder, `${main.split('/')[0]}.log`),
  })

/** Starts the worker. */
export const startWorker = (logFolder: string, started: Started): RunningProcess =>
  launch(logFolder, { name: 'Worker', main: 'worker/main.ts', environment: workerEnvironment(started) })

/** Starts the SCEP gateway where there is one. */
export const startScepGateway = (logFolder: string, started: Started): RunningProcess | undefined => {
  const main = 'scep-gateway/main.ts'
  if (!existsSync(join(ROOT, main))) return undefined
  return launch(logFolder, { name: 'SCEP gateway', main, environment: scepGatewayEnvironment(started) })
}

/** Starts the REST API. */
export const startApi = (logFolder: string, started: Started): RunningProcess =>
  launch(logFolder, { name: 'API', main: 'api/main.ts', environment: apiEnvironment(started) })

/** Waits until the REST API says that it and all it needs are ready. */
export const apiReady = (api: RunningProcess, baseUrl: string): Promise<void> =>
  until({ part: api, patienceMs: READY_MS }, async () => {
    const { ok, status } = await fetch(`${baseUrl}/health/ready`)
    if (!ok) throw new Error(`/health/ready answers ${status}`)
  })
