// The API process: wiring, and a life that ends cleanly.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as after } from 'node:timers/promises'
import { z } from 'zod'
import { hasImplicitRejection } from '../pki/cms/key-transport.ts'
import { addKnownKeys } from '../pki/keys/known-keys.ts'
import { openStorage } from '../storage/orm.ts'
import { prepareSchema } from '../storage/prepare.ts'
import { Seal } from '../storage/seal.ts'
import { listenToChanges } from '../storage/setting-changes.ts'
import { Settings } from '../storage/settings.ts'
import { createDataConverter, EncryptionCodec } from '../worker/payload-codec.ts'
import { temporalTls } from '../worker/temporal-tls.ts'
import { createApp } from './app.ts'
import { authenticateWith } from './kernel/authentication.ts'
import { ApiConfig, limitsIn } from './config.ts'
import type { Dependencies } from './kernel/dependencies.ts'
import { makeMetrics, metricsServer } from './endpoints/metrics.ts'
import { createLog } from './log.ts'
import { serverOf } from './server.ts'
import { connectTemporal } from './kernel/temporal.ts'

/** So long callers who use their connections again and again are told to leave, before idle ones are closed on them. */
const leavingMs = 500

/** So long after it is asked to end, who still waits for a run is told that it goes on; who hears nothing by then is cut off. */
const patienceMs = 10_000
const drainMs = 15_000

const parsed = ApiConfig.safeParse(process.env)
if (!parsed.success) {
  console.error(`The configuration of the API is wrong:\n${z.prettifyError(parsed.error)}`)
  process.exit(2)
}
const config = parsed.data
const log = createLog(config.LOG_LEVEL)

if (config.WEAK_KEYS_FILE) addKnownKeys(await readFile(config.WEAK_KEYS_FILE, 'utf8'))

if (!(await hasImplicitRejection()))
  log.error('This Node.js tells wrong RSA paddings apart (RFC 3218): envelopes of SCEP are not safe with it')

const clock = () => new Date()
const orm = await openStorage({ url: config.DATABASE_URL, connections: config.DATABASE_CONNECTIONS, clock })
await prepareSchema(orm, {
  url: config.DATABASE_URL,
  migrationUrl: config.MIGRATION_DATABASE_URL,
  warn: text => log.warn(text),
})

const metrics = makeMetrics()

const seal = new Seal(config.MASTER_KEYS, config.CA_MASTER_KEYS)
const settings = new Settings(orm.em, { seal, baseUrl: config.BASE_URL })
const listener = listenToChanges({
  url: config.DATABASE_URL,
  settings,
  warn: (text, err) => log.warn({ err }, text),
})

let stopping = false

const deps: Dependencies = {
  orm,
  temporal: connectTemporal({
    address: config.TEMPORAL_ADDRESS,
    tls: await temporalTls(config),
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: config.TEMPORAL_TASK_QUEUE,
    dataConverter: createDataConverter(config.PAYLOAD_KEYS),
  }),
  authenticate: authenticateWith({
    issuer: config.OIDC_ISSUER,
    audiences: config.OIDC_AUDIENCE,
    algorithms: config.OIDC_ALGORITHMS,
    keysUrl: config.OIDC_KEYS_URL,
  }),
  settings,
  seal,
  clock,
  log,
  codec: new EncryptionCodec(config.PAYLOAD_KEYS),
  temporalUiUrl: config.TEMPORAL_UI_URL,
  codecKey: config.CODEC_KEY,
  metrics,
  baseUrl: config.BASE_URL,
  limits: limitsIn(config),
  isStopping: () => stopping,
}

const server = serverOf(createApp(deps)).listen(config.API_PORT, config.API_HOST)
await once(server, 'listening')
log.info({ address: server.address() }, 'the API listens')

const measuring = config.API_METRICS_ADDRESS && metricsServer(metrics).listen(config.API_METRICS_ADDRESS)
if (measuring) await once(measuring, 'listening')

/** Has callers leave, takes no new requests, lets running ones end or tells who waits that his run goes on, then leaves. */
const stop = async (): Promise<void> => {
  if (stopping) return
  stopping = true
  log.info('the API stops')
  await after(leavingMs)
  const hurry = setTimeout(() => deps.temporal.endWaits(), patienceMs)
  const impatient = setTimeout(() => server.closeAllConnections(), drainMs)
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  if (measuring) measuring.close().closeAllConnections()
  await closed
  clearTimeout(hurry)
  clearTimeout(impatient)
  await listener.stop()
  await deps.temporal.close()
  await orm.close()
}
const stopLoudly = (): void => {
  stop().catch((error: unknown) => {
    log.error({ err: error }, 'the API could not stop cleanly')
    process.exitCode = 1
  })
}
process.once('SIGTERM', stopLoudly)
process.once('SIGINT', stopLoudly)
