// The stack under measurement: what `npm start` starts, with data and ports of its own.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../embedded/processes/ports.ts'
import { getToken, restClient, type Credentials, type RestClient } from '../embedded/rest-client.ts'

const dataFolder = 'data/bench'
const portVariables = `API_PORT IDENTITY_PROVIDER_PORT TEMPORAL_PORT TEMPORAL_UI_PORT POSTGRES_PORT SMTP_PORT
  MAIL_INBOX_PORT SCEP_PORT API_METRICS_PORT WORKER_METRICS_PORT`.split(/\s+/)

/** The running stack. */
export interface BenchStack {
  readonly admin: RestClient
  readonly demo: RestClient
  /** A new token of the demo client, which lives some minutes. */
  readonly demoToken: () => Promise<string>
  /** Where the API is and its identity provider gives tokens. */
  readonly baseUrl: string
  readonly tokenUrl: string
  readonly databaseUrl: string
  readonly metricsUrl: string
  /** What the payloads of runs are sealed with. */
  readonly payloadKeys: string
  /** The port of the mail catcher. */
  readonly smtpPort: number
  /** Where Temporal's gRPC interface listens. */
  readonly temporalAddress: string
  /** Process ids by part, PostgreSQL's and Temporal's among them. */
  readonly parts: () => { name: string; pid: number }[]
  readonly stop: () => Promise<void>
}

const environment = async (): Promise<Record<string, string>> => {
  const free = new Set<number>()
  while (free.size < portVariables.length) free.add(await freePort())
  const ports = Object.fromEntries([...free].map((port, index) => [portVariables[index] ?? '', String(port)]))
  return { ...ports, DATA_FOLDER: dataFolder, LOG_LEVEL: 'warn' }
}

const readEnvironment = (file: string): Record<string, string> =>
  Object.fromEntries(
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(line => line.includes('='))
      .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1).replace(/^'|'$/g, '')]),
  )

const untilReady = (child: ReturnType<typeof spawn>): Promise<void> =>
  new Promise((resolve, reject) => {
    const last: string[] = []
    child.once('exit', () => reject(new Error(`The stack did not start:\n${last.slice(-20).join('\n')}`)))
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
    lines.on('line', line => {
      last.push(line)
      if (line === 'ready') resolve()
    })
  })

const tokenLivesMs = 200_000

/** A client that asks for a new token before the old one ends: a measurement may take longer. */
const renewingClient = (base: string, tokenUrl: string, credentials: Credentials): RestClient => {
  let end = 0
  let client: Promise<RestClient> | undefined
  return async (call, body) => {
    if (client === undefined || performance.now() > end) {
      end = performance.now() + tokenLivesMs
      client = getToken(tokenUrl, credentials).then(token => restClient(base, token))
    }
    return (await client)(call, body)
  }
}

const clientsOf = (environment: Record<string, string>) => {
  const value = (name: string): string => environment[`CERTWRIGHT_${name}`] ?? ''
  const base = value('URL')
  const admin = renewingClient(base, value('TOKEN_URL'), {
    clientId: value('ADMIN_CLIENT_ID'),
    clientSecret: value('ADMIN_CLIENT_SECRET'),
    username: value('ADMIN_USERNAME'),
    password: value('ADMIN_PASSWORD'),
  })
  const credentials = { clientId: value('CLIENT_ID'), clientSecret: value('CLIENT_SECRET') }
  const demo = renewingClient(base, value('TOKEN_URL'), credentials)
  const demoToken = () => getToken(value('TOKEN_URL'), credentials)
  return { admin, demo, demoToken, baseUrl: base, tokenUrl: value('TOKEN_URL') }
}

/** Starts a fresh stack of a checkout; this one when left out. */
export const startStack = async (checkout = '.'): Promise<BenchStack> => {
  const folder = join(checkout, dataFolder)
  rmSync(folder, { recursive: true, force: true })
  const env = await environment()
  const child = spawn(process.execPath, ['embedded/main.ts'], {
    cwd: checkout,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await untilReady(child)
  const { postgresPassword, payloadKeys } = JSON.parse(readFileSync(`${folder}/secrets.json`, 'utf8')) as {
    postgresPassword: string
    payloadKeys: string
  }
  const run = JSON.parse(readFileSync(`${folder}/run.json`, 'utf8')) as { parts: { name: string; pid: number }[] }
  const stop = () =>
    new Promise<void>(resolve => {
      child.once('exit', () => resolve())
      child.kill('SIGTERM')
    })
  return {
    ...clientsOf(readEnvironment(`${folder}/demo.env`)),
    databaseUrl: `postgresql://certwright:${encodeURIComponent(postgresPassword)}@127.0.0.1:${env['POSTGRES_PORT']}/certwright`,
    payloadKeys,
    metricsUrl: `http://127.0.0.1:${env['WORKER_METRICS_PORT']}/metrics`,
    smtpPort: Number(env['SMTP_PORT']),
    temporalAddress: `127.0.0.1:${env['TEMPORAL_PORT']}`,
    parts: () => run.parts,
    stop,
  }
}
