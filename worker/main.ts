// The worker process: wiring, and a life that ends cleanly.
import { readFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Client } from '@temporalio/client'
import {
  DefaultLogger,
  NativeConnection,
  Runtime,
  makeTelemetryFilterString,
  type TelemetryOptions,
} from '@temporalio/worker'
import { pino, stdSerializers } from 'pino'
import { z } from 'zod'
import { createActivities } from '../activities/index.ts'
import { firstStart, type FirstAdmins } from '../activities/first-start.ts'
import { openDirectory, type Directory } from '../activities/directory/keycloak.ts'
import { MailStarts } from '../activities/mail/starting.ts'
import type { Services } from '../activities/services.ts'
import { addKnownKeys } from '../pki/keys/known-keys.ts'
import { openStorage } from '../storage/orm.ts'
import { prepareSchema } from '../storage/prepare.ts'
import { Seal } from '../storage/seal.ts'
import { listenToChanges } from '../storage/setting-changes.ts'
import { Settings } from '../storage/settings.ts'
import { WorkerConfig } from './config.ts'
import { createDataConverter } from './payload-codec.ts'
import { createRuns } from './runs.ts'
import { eventLoopBuckets, watchEventLoop } from './event-loop.ts'
import { keepSchedules } from './kept-schedules.ts'
import { temporalTls } from './temporal-tls.ts'
import { bundleWorkflows, createWorker } from './worker.ts'

const parsed = WorkerConfig.safeParse(process.env)
if (!parsed.success) {
  console.error(`The configuration of the worker is wrong:\n${z.prettifyError(parsed.error)}`)
  process.exit(2)
}
const config = parsed.data
const log = pino({ level: config.LOG_LEVEL, base: { process: 'worker' } })

const telemetry = (metricsAddress: string | undefined): TelemetryOptions => ({
  logging: { filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }), forward: {} },
  ...(metricsAddress && {
    metrics: { prometheus: { bindAddress: metricsAddress, histogramBucketOverrides: eventLoopBuckets } },
  }),
})

const firstAdmins = ({
  START_ADMIN_CLIENT_ID,
  START_ADMIN_USER_ID,
  START_ADMIN_USER_EMAIL,
}: WorkerConfig): FirstAdmins => [
  ...(START_ADMIN_CLIENT_ID ? [{ kind: 'API_CLIENT' as const, clientId: START_ADMIN_CLIENT_ID }] : []),
  ...(START_ADMIN_USER_ID
    ? [
        {
          kind: 'USER' as const,
          subject: START_ADMIN_USER_ID,
          email: START_ADMIN_USER_EMAIL ?? null,
          name: START_ADMIN_USER_EMAIL ?? START_ADMIN_USER_ID,
        },
      ]
    : []),
]

const directoryIn = (config: WorkerConfig): Directory => {
  const { DIRECTORY_URL: url, DIRECTORY_CLIENT_ID: clientId, DIRECTORY_CLIENT_SECRET: clientSecret } = config
  if (!url || !clientSecret) return openDirectory(undefined)
  const audience = config.DIRECTORY_AUDIENCE || undefined
  return openDirectory({ url, realm: config.DIRECTORY_REALM, clientId, clientSecret, audience })
}

const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const

/** Errors have no members of their own that JSON would show. */
const told = (meta: object = {}): object =>
  Object.fromEntries(
    Object.entries(meta).map(([name, value]) => [name, value instanceof Error ? stdSerializers.err(value) : value]),
  )

const logger = new DefaultLogger('WARN', ({ level, message, meta }) =>
  log[levels[level]]({ meta: told(meta) }, message),
)

if (config.WEAK_KEYS_FILE) addKnownKeys(await readFile(config.WEAK_KEYS_FILE, 'utf8'))

// Mail servers and the like: also the CAs of the machine count, beside those of Node and of NODE_EXTRA_CA_CERTS.
setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')])

const clock = () => new Date()

const connect = async () => {
  const orm = await openStorage({ url: config.DATABASE_URL, connections: 20, clock })
  await prepareSchema(orm, {
    url: config.DATABASE_URL,
    migrationUrl: config.MIGRATION_DATABASE_URL,
    warn: text => log.warn(text),
  })
  const connection = await NativeConnection.connect({
    address: config.TEMPORAL_ADDRESS,
    tls: (await temporalTls(config)) ?? null,
    grpcCompression: { codec: 'none' },
  })
  const dataConverter = createDataConverter(config.PAYLOAD_KEYS)
  const client = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE, dataConverter })
  return { orm, connection, dataConverter, client }
}

const warnOfMails: ConstructorParameters<typeof MailStarts>[0]['warn'] = (text, { error, ...meta }) =>
  log.warn({ err: error, ...meta }, text)

const start = async () => {
  Runtime.install({ shutdownSignals: [], telemetryOptions: telemetry(config.WORKER_METRICS_ADDRESS), logger })
  const { orm, connection, dataConverter, client } = await connect()
  const seal = new Seal(config.MASTER_KEYS, config.CA_MASTER_KEYS)
  const settings = new Settings(orm.em, { seal, baseUrl: config.BASE_URL })
  const listener = listenToChanges({
    url: config.DATABASE_URL,
    settings,
    warn: (text, err) => log.warn({ err }, text),
  })
  const runs = createRuns(client, config.TEMPORAL_TASK_QUEUE)
  const mailStarts = new MailStarts({ orm, runs, warn: warnOfMails })
  const services: Services = {
    orm,
    seal,
    settings,
    runs,
    mailStarts,
    privateNetworks: config.OUTBOUND_PRIVATE_ADDRESSES,
    directory: directoryIn(config),
    clock,
    baseUrl: config.BASE_URL,
  }
  if (await firstStart(services, firstAdmins(config)))
    log.info('first start: system realm, built-in CA and policies are made')
  const schedules = await keepSchedules({
    client,
    taskQueue: config.TEMPORAL_TASK_QUEUE,
    warn: (text, err) => log.warn({ err }, text),
  })
  const worker = await createWorker({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: config.TEMPORAL_TASK_QUEUE,
    dataConverter,
    activities: createActivities(services),
    bundle: await bundleWorkflows(),
  })
  return { worker, connection, orm, listener, mailStarts, schedules }
}

const { worker, connection, orm, listener, mailStarts, schedules } = await start()
const running = worker.run()
/** Asked twice, as by impatient people, it still ends in order: a worker that drains must not be told again. */
const stop = (): void => {
  if (worker.getState() === 'RUNNING') worker.shutdown()
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
const stopWatching = watchEventLoop()
log.info('the worker is ready')
await running
stopWatching()
await schedules.stop()
await mailStarts.end()
await listener.stop()
await connection.close()
await orm.close()
