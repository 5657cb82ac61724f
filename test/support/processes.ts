// The service as real processes on servers of its own, which a test may kill and start again.
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MikroORM } from '@mikro-orm/postgresql'
import { apiReady, migrateStorage, startApi, startWorker } from '../../embedded/processes/application.ts'
import { readConfig } from '../../embedded/config.ts'
import { demoPrincipals, type Started } from '../../embedded/environment.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { startPostgres, type Postgres } from '../../embedded/servers/postgres.ts'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { until } from '../../embedded/processes/until.ts'
import { startTemporal, type Temporal } from '../../embedded/servers/temporal.ts'
import { openStorage } from '../../storage/orm.ts'
import { realmSecrets } from './keycloak.ts'
import { createClient, stack, tokenFor } from './stack.ts'

const database = 'certwright'
const adminClient = { clientId: demoPrincipals.adminClientId, secret: realmSecrets.ADMIN_CLIENT_SECRET }

const firstStartMs = 60_000

/** The client by which their worker writes to the identity provider. */
export const directoryClient = {
  clientId: demoPrincipals.directoryClientId,
  // A real Keycloak has it already.
  secret: realmSecrets.DIRECTORY_CLIENT_SECRET,
}

const key = (): string => `k1:${randomBytes(32).toString('base64')}`

/** Makes what the processes read, with ports that nobody uses at the moment. */
const plan = async (folder: string, { postgresFolder, logLevel = 'info', directoryUrl }: ProcessesOptions) => {
  const ports = await Promise.all(
    ['API_PORT', 'TEMPORAL_PORT', 'POSTGRES_PORT', 'API_METRICS_PORT', 'WORKER_METRICS_PORT', 'SCEP_PORT'].map(
      async name => [name, String(await freePort())] as const,
    ),
  )
  const config = readConfig({ ...Object.fromEntries(ports), LOG_LEVEL: logLevel })
  const password = randomBytes(12).toString('hex')
  const postgres = {
    folder: postgresFolder ?? join(folder, 'postgres'),
    port: config.POSTGRES_PORT,
    password,
    logFile: join(folder, 'postgres.log'),
    // What was committed must outlive a kill, as in production.
    durable: true,
    databases: [database],
    servicePassword: randomBytes(12).toString('hex'),
  }
  const temporal = {
    program: stack.temporalCli(),
    port: config.TEMPORAL_PORT,
    databaseFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'temporal.log'),
  }
  const masterKeys = key()
  const payloadKeys = key()
  const started = ({ url, serviceUrl }: Postgres, address: string): Started => ({
    config,
    secrets: {
      postgresPassword: password,
      servicePassword: postgres.servicePassword,
      payloadKeys,
      masterKeys,
      adminPassword: '',
      adminClientSecret: adminClient.secret,
      clientSecret: '',
      directoryClientSecret: directoryClient.secret,
      codecKey: randomBytes(24).toString('base64url'),
    },
    addresses: {
      baseUrl: `http://127.0.0.1:${config.API_PORT}`,
      issuer: stack.issuer(),
      tokenUrl: stack.tokenUrl(),
      directoryUrl: directoryUrl ?? stack.directoryUrl(),
      temporal: address,
      temporalUiUrl: 'http://127.0.0.1',
      scepUrl: 'https://127.0.0.1',
      mailUrl: 'http://127.0.0.1',
    },
    databaseUrl: serviceUrl(database),
    migrationUrl: url(database),
    identities: { adminUserId: 'nobody' },
  })
  return { postgres, temporal, started }
}

/** One answer of the API. */
export interface Answer {
  readonly status: number
  // Tests look into bodies of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** How the administrators' client calls an API at this address. */
export const callerOf =
  (baseUrl: string) =>
  async (method: string, path: string, body?: unknown): Promise<Answer> => {
    // A new token each time: the stories outlive the five minutes of one.
    const token = await tokenFor({ ...adminClient, serviceAccountId: '' })
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text ? JSON.parse(text) : null }
  }

/**
 * Where the processes come from, where PostgreSQL keeps its data, and the identity provider that the worker writes to, when
 * not the usual ones; how much they log.
 */
export interface ProcessesOptions {
  readonly installed?: string
  readonly postgresFolder?: string
  readonly directoryUrl?: string
  readonly logLevel?: 'info' | 'trace'
}

/**
 * Starts PostgreSQL, Temporal, the worker and the API, the last two from this checkout or another installation; `stop()`
 * ends what runs and removes what was written.
 */
export const startProcesses = async (options: ProcessesOptions = {}) => {
  const { installed } = options
  const folder = mkdtempSync(join(tmpdir(), 'certwright-story-'))
  chmodSync(folder, 0o755)
  const settings = await plan(folder, options)
  await createClient(adminClient)
  await createClient({ ...directoryClient, managesClients: true })
  const postgresStarted = startPostgres(settings.postgres)
  const running: { postgres: Postgres; temporal: Temporal; worker: RunningProcess; api: RunningProcess } = {
    temporal: await startTemporal(settings.temporal),
    postgres: await postgresStarted,
    // Set below, once there is something to connect to.
    worker: undefined as never,
    api: undefined as never,
  }
  const started = settings.started(running.postgres, running.temporal.address)
  const installation = { ...(installed !== undefined && { folder: installed }), logFolder: folder }
  await migrateStorage(installation, started)
  const newWorker = async (): Promise<void> => void (running.worker = startWorker(installation, started))
  await newWorker()
  const newApi = async (): Promise<void> => {
    running.api = startApi(installation, started)
    await apiReady(running.api, started.addresses.baseUrl)
  }
  running.api = startApi(installation, started)
  const orm: MikroORM = await openStorage({ url: started.migrationUrl })
  const stop = async (): Promise<void> => {
    await orm.close()
    for (const part of [running.api, running.worker, running.temporal, running.postgres]) await part.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  // The API serves before the worker has made the first administrators.
  const firstStart = async (): Promise<void> => {
    const made = await orm.em.fork().execute(`select from setting where settings_key = 'system.realm-id'`)
    if (made.length === 0) throw new Error('the first start is under way')
  }
  const ready = async (): Promise<void> => {
    await apiReady(running.api, started.addresses.baseUrl)
    await until({ part: running.worker, timeoutMs: firstStartMs }, firstStart)
  }
  await ready().catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return {
    running,
    /** Where all of them keep their logs, and Temporal its records. */
    folder,
    orm,
    started,
    call: callerOf(started.addresses.baseUrl),
    startWorker: newWorker,
    startApi: newApi,
    /** Another worker beside the first; whoever starts it stops it. */
    startSecondWorker: async (): Promise<RunningProcess> => {
      const config = { ...started.config, WORKER_METRICS_PORT: await freePort() }
      return startWorker({ ...installation, logFolder: join(folder, 'second') }, { ...started, config })
    },
    startTemporal: async () => void (running.temporal = await startTemporal(settings.temporal)),
    startPostgres: async () => void (running.postgres = await startPostgres(settings.postgres)),
    stop,
  }
}
export type Processes = Awaited<ReturnType<typeof startProcesses>>
