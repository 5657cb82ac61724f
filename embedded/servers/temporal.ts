// Starts the Temporal development server and makes its namespace and search attributes.
import { Connection } from '@temporalio/client'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type RunningProcess, startProcess } from '../processes/process.ts'
import { until } from '../processes/until.ts'

/** Where the Temporal development server keeps its data and how it is reached. */
export interface TemporalSettings {
  /** The path of the Temporal CLI. */
  readonly program: string
  readonly port: number
  readonly databaseFile: string
  readonly logFile: string
  /** The web UI; left out, there is none. */
  readonly ui?: { readonly port: number; readonly codecEndpoint: string }
  readonly namespace?: string
}

/** A running Temporal development server. */
export interface Temporal extends RunningProcess {
  readonly address: string
}

/** The namespace of all our workflows. */
export const temporalNamespace = 'certwright'

/** The search attributes that the workflows set, with their types. */
export const searchAttributes = {
  CertRealmId: 'Keyword',
  CertPolicyId: 'Keyword',
  CertReqState: 'Keyword',
  CertKind: 'Keyword',
  CertRequestIds: 'KeywordList',
} as const

const readyTimeoutMs = 60_000
const retentionSeconds = 72 * 3600
const types = { Keyword: 2, KeywordList: 7 } as const // IndexedValueType of Temporal's interface
const alreadyExists = 6 // gRPC status

// Its history service looks for new tasks at most 20 times a second and shard unless it may look more often, and this server
// has one shard: no more than ten runs after one another, however little they cost.
const dynamicConfiguration = [
  'system.enableActivityEagerExecution=true',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  'frontend.rps=20000',
  'frontend.namespaceRPS=20000',
  'history.rps=20000',
  'matching.rps=20000',
  'history.transferProcessorMaxPollRPS=1000',
  'history.timerProcessorMaxPollRPS=1000',
  'history.visibilityProcessorMaxPollRPS=1000',
]

const uiArguments = (ui: TemporalSettings['ui']): string[] =>
  ui
    ? [
        '--ui-ip',
        '127.0.0.1',
        '--ui-port',
        `${ui.port}`,
        '--ui-disable-news-fetch',
        '--ui-codec-endpoint',
        ui.codecEndpoint,
      ]
    : ['--headless']

const serverArguments = ({ port, databaseFile, ui, namespace = temporalNamespace }: TemporalSettings): string[] => [
  ...`server start-dev --ip 127.0.0.1 --port ${port} --namespace ${namespace} --db-filename`.split(' '),
  databaseFile,
  ...'--sqlite-pragma journal_mode=wal --sqlite-pragma synchronous=normal --log-level warn --log-format json'.split(
    ' ',
  ),
  ...uiArguments(ui),
  ...Object.entries(searchAttributes).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
  ...dynamicConfiguration.flatMap(value => ['--dynamic-config-value', value]),
]

const tolerateExisting = (error: unknown): void => {
  if ((error as { code?: number }).code !== alreadyExists) throw error
}

const addMissingAttributes = async (connection: Connection, namespace: string): Promise<void> => {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
  const missing = Object.entries(searchAttributes).filter(([name]) => !(name in customAttributes))
  if (missing.length === 0) return
  const added = Object.fromEntries(missing.map(([name, type]) => [name, types[type]]))
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: added }).catch(tolerateExisting)
}

/** Makes the namespace and its search attributes on any Temporal server; what is there already stays. */
export const prepareTemporal = async (address: string, namespace: string = temporalNamespace): Promise<void> => {
  const connection = await Connection.connect({ address, connectTimeout: 2000 })
  try {
    const workflowExecutionRetentionPeriod = { seconds: retentionSeconds as unknown as Long }
    await connection.workflowService
      .registerNamespace({ namespace, workflowExecutionRetentionPeriod })
      .catch(tolerateExisting)
    await addMissingAttributes(connection, namespace)
  } finally {
    await connection.close()
  }
}

/** Starts the Temporal development server and waits until its namespace can be used. */
export const startTemporal = async (settings: TemporalSettings): Promise<Temporal> => {
  mkdirSync(dirname(settings.databaseFile), { recursive: true })
  const server = startProcess({
    name: 'Temporal',
    command: [settings.program, ...serverArguments(settings)],
    logFile: settings.logFile,
  })
  const address = `127.0.0.1:${settings.port}`
  await until({ part: server, timeoutMs: readyTimeoutMs }, () => prepareTemporal(address, settings.namespace)).catch(
    async error => {
      await server.stop()
      throw error
    },
  )
  return { ...server, address }
}
