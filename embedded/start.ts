// Starts all embedded parts in their order, then the application, then the demonstration.
import {
  apiReady,
  enrolDevice,
  gatewayReady,
  migrateStorage,
  startApi,
  startScepGateway,
  startWorker,
} from './processes/application.ts'
import { bootstrap, type DemoDevice, type Demonstration, enrolOnce } from './bootstrap.ts'
import { type EmbeddedConfig, plannedPorts } from './config.ts'
import { type Addresses, demoPrincipals, type DemoIdentities, type Started } from './environment.ts'
import { type IdentityProvider, startIdentityProvider } from './servers/identity-provider.ts'
import { startMailCatcher } from './servers/mail-catcher.ts'
import { checkPorts } from './processes/ports.ts'
import type { RunningProcess } from './processes/process.ts'
import { type Postgres, startPostgres } from './servers/postgres.ts'
import { type Secrets, readSecrets, writePrivately } from './secrets.ts'
import { temporalCli } from './setup-record.ts'
import { runSteps } from './steps.ts'
import { demoEnvironment, summary } from './summary.ts'
import type { Supervisor } from './processes/supervisor.ts'
import { prepareTemporal, startTemporal } from './servers/temporal.ts'

/** What a start needs: the settings, the data folder, and who keeps what it starts. */
export interface Start {
  readonly config: EmbeddedConfig
  readonly folder: string
  readonly supervisor: Supervisor
}

const local = (port: number): string => `http://127.0.0.1:${port}`

const addressesOf = (config: EmbeddedConfig, { issuer, tokenUrl, url }: IdentityProvider): Addresses => ({
  baseUrl: local(config.API_PORT),
  issuer,
  tokenUrl,
  directoryUrl: url,
  temporal: config.TEMPORAL_ADDRESS ?? `127.0.0.1:${config.TEMPORAL_PORT}`,
  temporalUiUrl: local(config.TEMPORAL_UI_PORT),
  scepUrl: `https://127.0.0.1:${config.SCEP_PORT}`,
  mailUrl: local(config.MAIL_INBOX_PORT),
})

const postgres = async ({ config, folder, supervisor }: Start, secrets: Secrets): Promise<Postgres> => {
  const run = () =>
    startPostgres({
      folder: `${folder}/postgres`,
      port: config.POSTGRES_PORT,
      password: secrets.postgresPassword,
      servicePassword: secrets.servicePassword,
      logFile: `${folder}/logs/postgres.log`,
      durable: true,
      databases: ['certwright', 'identity'],
    })
  const server = await run()
  supervisor.watch(server, run)
  return server
}

const temporal = async ({ config, folder, supervisor }: Start, { codecKey }: Secrets): Promise<void> => {
  if (config.TEMPORAL_ADDRESS !== undefined) return prepareTemporal(config.TEMPORAL_ADDRESS)
  const run = () =>
    startTemporal({
      program: temporalCli(),
      port: config.TEMPORAL_PORT,
      databaseFile: `${folder}/temporal.db`,
      logFile: `${folder}/logs/temporal.log`,
      ui: { port: config.TEMPORAL_UI_PORT, codecEndpoint: `${local(config.API_PORT)}/temporal/codec/${codecKey}` },
    })
  supervisor.watch(await run(), run)
}

const identityProvider = async (
  { config, folder, supervisor }: Start,
  database: Postgres,
): Promise<IdentityProvider> => {
  const provider = await startIdentityProvider({
    port: config.IDENTITY_PROVIDER_PORT,
    databaseUrl: database.url('identity'),
    keyFile: `${folder}/identity-provider-key.json`,
    smtpPort: config.SMTP_PORT,
  })
  supervisor.keep(provider.stop)
  return provider
}

const mail = async ({ config, supervisor }: Start): Promise<void> => {
  const catcher = await startMailCatcher({ smtpPort: config.SMTP_PORT, inboxPort: config.MAIL_INBOX_PORT })
  supervisor.keep(catcher.stop)
}

const demoIdentities = async ({ store }: IdentityProvider, secrets: Secrets): Promise<DemoIdentities> => {
  const client = async (clientId: string, secret: string) =>
    (await store.findClient(clientId)) ?? (await store.upsertClient({ clientId, secret }))
  await client(demoPrincipals.adminClientId, secrets.adminClientSecret)
  await client(demoPrincipals.clientId, secrets.clientSecret)
  await store.upsertClient({
    clientId: demoPrincipals.directoryClientId,
    secret: secrets.directoryClientSecret,
    managesClients: true,
  })
  const password = secrets.adminPassword
  const user =
    (await store.findUserByName(demoPrincipals.admin.username)) ??
    (await store.upsertUser({ ...demoPrincipals.admin, password }))
  return { adminUserId: user.id }
}

const infrastructure = async (start: Start): Promise<Started> => {
  const { config, folder } = start
  const secrets = readSecrets(`${folder}/secrets.json`)
  const databaseStarted = Promise.withResolvers<Postgres>()
  const providerStarted = Promise.withResolvers<IdentityProvider>()
  await runSteps([
    [
      { title: 'PostgreSQL', run: async () => databaseStarted.resolve(await postgres(start, secrets)) },
      { title: 'Temporal', run: () => temporal(start, secrets) },
      { title: 'Mail catcher', run: () => mail(start) },
    ],
    [
      {
        title: 'Identity provider',
        run: async () => providerStarted.resolve(await identityProvider(start, await databaseStarted.promise)),
      },
    ],
  ])
  const [database, provider] = await Promise.all([databaseStarted.promise, providerStarted.promise])
  const identities = await demoIdentities(provider, secrets)
  const addresses = addressesOf(config, provider)
  const databaseUrl = database.serviceUrl('certwright')
  return { config, secrets, addresses, databaseUrl, migrationUrl: database.url('certwright'), identities }
}

const installationOf = ({ folder }: Start) => ({ logFolder: `${folder}/logs` })

const watched = ({ supervisor }: Start, run: () => RunningProcess): RunningProcess => {
  const part = run()
  supervisor.watch(part, run)
  return part
}

const application = async (start: Start, started: Started): Promise<void> => {
  const installation = installationOf(start)
  await migrateStorage(installation, started)
  watched(start, () => startWorker(installation, started))
  const api = watched(start, () => startApi(installation, started))
  await apiReady(api, started.addresses.baseUrl)
}

const scepGateway = async (start: Start, started: Started, { scep }: Demonstration): Promise<void> => {
  const gateway = watched(start, () => startScepGateway(installationOf(start), started, scep.gateway))
  await gatewayReady(gateway, started.addresses.scepUrl)
}

const device = (start: Start, started: Started, { scep }: Demonstration): Promise<DemoDevice> =>
  enrolOnce(started, { scep, folder: `${start.folder}/device` }, (challenge, folder) =>
    enrolDevice(installationOf(start), {
      SCEP_URL: `${started.addresses.scepUrl}/scep`,
      SCEP_COMMON_NAME: scep.commonName,
      SCEP_CHALLENGE: challenge,
      SCEP_CA_FINGERPRINT: scep.caFingerprint,
      SCEP_FOLDER: folder,
    }),
  )

const withContext = (error: unknown): never => {
  const reason = error instanceof Error ? error.message : String(error)
  throw new Error(`The demonstration could not be made: ${reason}`, { cause: error })
}

/** Starts all parts in order, makes or finds the demonstration, and answers the text that people read. */
export const startAll = async (start: Start): Promise<string> => {
  await checkPorts(plannedPorts(start.config))
  const started = await infrastructure(start)
  const envFile = `${start.config.DATA_FOLDER}/demo.env`
  let demo: Demonstration
  let text = ''
  await runSteps([
    [{ title: 'API and worker', run: () => application(start, started) }],
    [
      {
        title: 'Demonstration',
        run: async () => void (demo = await bootstrap(started, start.folder).catch(withContext)),
      },
    ],
    [{ title: 'SCEP gateway', run: () => scepGateway(start, started, demo) }],
    [
      {
        title: 'Device over SCEP',
        run: async () => {
          const enrolled = await device(start, started, demo).catch(withContext)
          writePrivately(`${start.folder}/demo.env`, demoEnvironment(started, demo))
          text = summary(started, { demo, device: enrolled }, envFile)
        },
      },
    ],
  ])
  return text
}
