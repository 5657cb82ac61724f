// Starts the servers that one test run shares, before the first test.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startIdentityProvider } from '../../embedded/servers/identity-provider.ts'
import { startMailCatcher } from '../../embedded/servers/mail-catcher.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { startPostgres } from '../../embedded/servers/postgres.ts'
import { stopRemaining } from '../../embedded/processes/process.ts'
import { temporalCli } from '../../embedded/setup-record.ts'
import { prepareTemporal, startTemporal } from '../../embedded/servers/temporal.ts'
import { bundleWorkflows } from '../../worker/worker.ts'
import { openIdentities } from './identities.ts'
import { realmSecrets, startKeycloak } from './keycloak.ts'
import { DIRECTORY_CLIENT, LOGIN_CLIENT, keepTeardown, namespacesOf } from './stack.ts'

const timed = async <T>(stage: string, work: () => Promise<T>): Promise<T> => {
  const started = performance.now()
  const result = await work()
  process.stdout.write(`${stage}: ${((performance.now() - started) / 1000).toFixed(1)} s\n`)
  return result
}

/** The memory of a process that its script has begun, in MiB. */
const residentMiB = (script: number): string => {
  const child = readFileSync(`/proc/${script}/task/${script}/children`, 'utf8').trim().split(' ')[0] || script
  const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child}/status`, 'utf8')) ?? []
  return (Number(kib) / 1024).toFixed(0)
}

const makeFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'certwright-test-'))
  chmodSync(folder, 0o755) // PostgreSQL's account must be able to enter it
  mkdirSync(join(folder, 'logs'))
  return folder
}

const postgres = async (folder: string) =>
  startPostgres({
    folder: join(folder, 'postgres'),
    port: await freePort(),
    password: 'test',
    logFile: join(folder, 'logs/postgres.log'),
    durable: false,
    databases: ['identity'],
  })

const temporalServer = async (folder: string) => {
  const given = process.env['TEMPORAL_ADDRESS']
  if (given) {
    await prepareTemporal(given)
    return { address: given, program: '' }
  }
  const program = temporalCli()
  const files = { databaseFile: join(folder, 'temporal.db'), logFile: join(folder, 'logs/temporal.log') }
  const { address } = await startTemporal({ program, port: await freePort(), ...files })
  return { address, program }
}

const temporal = async (folder: string, workers: number) => {
  const server = await temporalServer(folder)
  for (const namespace of namespacesOf(workers)) await prepareTemporal(server.address, namespace)
  return server
}

const workflowBundle = async (folder: string) => {
  const { code } = await bundleWorkflows()
  const file = join(folder, 'workflows.js')
  writeFileSync(file, code)
  return file
}

/** What the identity provider works with. */
interface Parts {
  readonly databaseUrl: string
  readonly smtpPort: number
}

const embeddedProvider = async (folder: string, { databaseUrl, smtpPort }: Parts) => {
  const keyFile = join(folder, 'identity-provider-key.json')
  const provider = await startIdentityProvider({ port: await freePort(), databaseUrl, keyFile, smtpPort })
  process.env['TEST_IDENTITY_DATABASE_URL'] = databaseUrl
  return provider
}

/** A real Keycloak when `npm run test:keycloak` asks for one. */
const wantsKeycloak = process.env['TEST_WITH_KEYCLOAK'] === 'true'

const keycloak = async (folder: string, { smtpPort }: Parts) => {
  const provider = await startKeycloak(folder, { port: await freePort(), smtpPort })
  // The tests of the directory ask it as the worker does where docker compose has started everything.
  Object.assign(process.env, {
    KEYCLOAK_URL: provider.url,
    KEYCLOAK_REALM: 'certwright',
    KEYCLOAK_CLIENT_ID: 'certwright-directory',
    KEYCLOAK_CLIENT_SECRET: realmSecrets.DIRECTORY_CLIENT_SECRET,
  })
  process.stdout.write(`Keycloak: ${residentMiB(provider.pid)} MiB\n`)
  return provider
}

const identityProvider = async (folder: string, parts: Parts) => {
  const provider = wantsKeycloak ? await keycloak(folder, parts) : await embeddedProvider(folder, parts)
  process.env['TEST_DIRECTORY_URL'] = provider.url
  const identities = await openIdentities()
  await identities.upsertClient(LOGIN_CLIENT)
  await identities.upsertClient({ ...DIRECTORY_CLIENT, managesClients: true })
  await identities.close()
  return provider
}

const start = async (folder: string, workers: number) => {
  const [database, { address, program }, mail, bundle] = await Promise.all([
    timed('PostgreSQL', () => postgres(folder)),
    timed('Temporal', () => temporal(folder, workers)),
    timed('mail catcher', async () => startMailCatcher({ smtpPort: await freePort(), inboxPort: await freePort() })),
    timed('workflow bundle', () => workflowBundle(folder)),
  ])
  const provider = await timed('identity provider', () =>
    identityProvider(folder, { databaseUrl: database.url('identity'), smtpPort: mail.smtpPort }),
  )
  Object.assign(process.env, {
    TEST_DATABASE_ADMIN_URL: database.url('postgres'),
    TEST_TEMPORAL_ADDRESS: address,
    TEST_TEMPORAL_CLI: program,
    TEST_OIDC_ISSUER: provider.issuer,
    TEST_TOKEN_URL: provider.tokenUrl,
    TEST_MAIL_URL: mail.inboxUrl,
    TEST_SMTP_PORT: String(mail.smtpPort),
    TEST_WORKFLOW_BUNDLE: bundle,
  })
  return [mail.stop, provider.stop]
}

// jest ends at a signal without its teardown, which would leave our servers behind.
const stopAtSignals = (stop: () => Promise<void>) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void stop().finally(() => process.exit(1)))
  }
}

/** Starts the one stack of a test run: real servers on free ports, with their data in a temporary folder. */
export default async ({ maxWorkers }: { maxWorkers: number }): Promise<void> => {
  const folder = makeFolder()
  const stopServers = async () => {
    await stopRemaining()
    rmSync(folder, { recursive: true, force: true })
  }
  stopAtSignals(stopServers)
  try {
    const stops = await timed('test stack', () => start(folder, maxWorkers))
    keepTeardown(async () => {
      for (const stop of stops) await stop()
      await stopServers()
    })
  } catch (error) {
    await stopServers()
    throw error
  }
}
