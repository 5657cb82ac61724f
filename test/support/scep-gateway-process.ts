// The SCEP gateway as the process that it is in an installation: by its file of properties, its environment, its log.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileOf, scepClient, startTokens } from './scep-gateway.ts'
import { until } from './issuing.ts'
import type { Scene, Service } from './service.ts'

const main = join(import.meta.dirname, '../../scep-gateway/main.ts')

/** Collects the garbage and tells the octets of the heap when the process is sent SIGUSR2. */
const heapTeller = `process.on('SIGUSR2', () => {
  gc(); gc()
  process.stdout.write(JSON.stringify({ heap: process.memoryUsage().heapUsed }) + '\\n')
})`

/** What a test may want to be otherwise. */
export interface ProcessOptions {
  readonly properties?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
}

interface Line {
  readonly msg?: string
  readonly port?: number
  readonly heap?: number
  readonly level?: number
  readonly status?: number
  readonly transactionId?: string
  readonly fingerprint256?: string
}

const linesOf = (output: string): Line[] =>
  output.split('\n').flatMap(line => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line) as Line] : []))

/** Runs the gateway with these properties and variables; `ended` answers its exit code, `stop` ends it. */
export const runGateway = async (properties: Readonly<Record<string, string>>, environment: NodeJS.ProcessEnv = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'certwright-scep-'))
  const file = join(folder, 'application.properties')
  await writeFile(file, fileOf(properties))
  const teller = `data:text/javascript,${encodeURIComponent(heapTeller)}`
  const options = ['--disable-warning=ExperimentalWarning', '--expose-gc', '--import', teller]
  const env = { PATH: process.env['PATH'], SCEP_PROPERTIES: file, ...environment }
  const child = spawn(process.execPath, [...options, main], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text))
  const ended = new Promise<number | null>(resolve => void child.once('close', resolve))
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal)
    const code = await ended
    await rm(folder, { recursive: true, force: true })
    return code
  }
  const lines = (): Line[] => linesOf(output)
  return { output: () => output, lines, ended, stop, signal: (name: NodeJS.Signals) => child.kill(name) }
}

const portOf = (lines: readonly Line[], name: string): number =>
  lines.find(({ msg }) => msg === `${name} listens`)?.port ?? 0

/** Starts the gateway before the service of a test, with HTTPS, HTTP and metrics on free loopback ports. */
export const startGatewayProcess = async (service: Service, scene: Scene, options: ProcessOptions = {}) => {
  const client = await scepClient(service, scene)
  const tokens = await startTokens(service, client.clientId)
  const running = await runGateway(
    {
      'server.port': '0',
      'server.address': '127.0.0.1',
      'server.http.port': '0',
      'server.metrics.port': '0',
      'scep.service.base-url': service.url,
      'scep.service.token-url': tokens.url,
      'scep.service.client-id': client.clientId,
      'scep.service.client-secret': 'known to the test',
      'scep.rate-limit': '0',
      ...options.properties,
    },
    options.environment,
  )
  const end = async (): Promise<number | null> => {
    await tokens.stop()
    return running.stop()
  }
  const ports = await until('the gateway listens', async () => {
    const lines = running.lines()
    const found = ['HTTPS', 'HTTP', 'metrics'].map(name => portOf(lines, name))
    return found.every(port => port > 0) && found
  }).catch(async (error: unknown) => {
    await end()
    throw new Error(running.output(), { cause: error })
  })
  const [https = 0, http = 0, metrics = 0] = ports
  /** The octets of its heap when the garbage is collected. */
  const heap = async (): Promise<number> => {
    const told = () => running.lines().filter(line => line.heap !== undefined)
    const before = told().length
    running.signal('SIGUSR2')
    const last = await until('the heap is told', async () => told()[before])
    return last.heap ?? 0
  }
  return {
    ...running,
    stop: end,
    heap,
    ports: { https, http, metrics },
    scepUrl: `http://127.0.0.1:${http}/scep/${scene.policyId}`,
  }
}
