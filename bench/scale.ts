// `npm run bench:scale`: one and two API processes, one and two workers, against one database and one Temporal server: what a
// second process adds. BENCH_ORDER_SIZE says how large the orders are (5,000); kept in bench/results/scale.json.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { freePort } from '../embedded/processes/ports.ts'
import { startProcess, stopRemaining, type RunningProcess } from '../embedded/processes/process.ts'
import { until } from '../embedded/processes/until.ts'
import { machine } from './machine.ts'
import { measureOrder } from './order.ts'
import { callerOf, type Call } from './peers-caller.ts'
import { measure, type Measured } from './peers-stack.ts'
import { keepTable } from './performance-page.ts'
import { makeScene, storeRequests, type Scene } from './scene.ts'
import { startStack, type BenchStack } from './stack.ts'

const orderSize = Number(process.env['BENCH_ORDER_SIZE'] ?? 5000)
const calls = { issue: 400, read: 1600 }
const clients = 32
const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** The environment that a part of the stack was started with. */
const environmentOf = (stack: BenchStack, part: string): Record<string, string> => {
  const pid = stack.parts().find(({ name }) => name === part)?.pid
  const pairs = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
  return Object.fromEntries(pairs.map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}

const start = async (stack: BenchStack, part: string, settings: Record<string, string>): Promise<RunningProcess> => {
  const room = part.toLowerCase()
  const metrics = { [`${part.toUpperCase()}_METRICS_ADDRESS`]: `127.0.0.1:${await freePort()}` }
  return startProcess({
    name: `Second ${part}`,
    command: [process.execPath, `${room}/main.ts`],
    environment: { ...environmentOf(stack, part), ...metrics, ...settings },
    logFile: `data/bench/logs/second-${room}.log`,
  })
}

const secondApi = async (stack: BenchStack) => {
  const port = await freePort()
  const part = await start(stack, 'API', { API_PORT: String(port) })
  const base = `http://127.0.0.1:${port}`
  await until({ part, timeoutMs: 60_000 }, async () => {
    const { ok, status } = await fetch(`${base}/health/ready`)
    if (!ok) throw new Error(`/health/ready answers ${status}`)
  })
  return { part, base }
}

/** A worker is there once it has asked for work, which its metrics tell. */
const secondWorker = async (stack: BenchStack): Promise<RunningProcess> => {
  const metricsAddress = `127.0.0.1:${await freePort()}`
  const part = await start(stack, 'Worker', { WORKER_METRICS_ADDRESS: metricsAddress })
  await until({ part, timeoutMs: 120_000 }, async () => {
    const text = await (await fetch(`http://${metricsAddress}/metrics`)).text()
    if (!/^temporal_num_pollers\{/m.test(text)) throw new Error('It does not ask for work yet.')
  })
  return part
}

interface Setting {
  readonly stack: BenchStack
  readonly scene: Scene
  readonly principalId: string
}

const throughApis = async ({ stack, scene, principalId }: Setting, bases: readonly string[]): Promise<Measured[]> => {
  const token = await stack.demoToken()
  const callers = bases.map(base => callerOf({ base, token }))
  const by = (index: number): Call => callers[index % callers.length] as Call
  const ids = await storeRequests(stack.databaseUrl, principalId, { ...scene, count: calls.issue })
  const issue = (index: number) => by(index)(`POST /api/v1/certificates/cert-requests/${ids[index]}`)
  const read = (index: number) => by(index)(`GET /api/v1/realms/${scene.realmId}`)
  return [
    await measure({ clients, calls: calls.issue }, stack.parts(), issue),
    await measure({ clients, calls: calls.read }, stack.parts(), read),
  ]
}

const order = async ({ stack, scene, principalId }: Setting): Promise<number> => {
  const ids = await storeRequests(stack.databaseUrl, principalId, { ...scene, count: orderSize })
  return (await measureOrder(stack.demo, ids, stack.parts())).perSecond
}

const rowOf = (work: string, one: number, two: number) => ({
  work,
  one,
  two,
  speedUp: Math.round((two / one) * 100) / 100,
})

const measureAll = async (stack: BenchStack) => {
  const { id: principalId } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
  const setting = { stack, principalId, scene: await makeScene(stack, 'EC') }
  const bulk = { ...setting, scene: await makeScene(stack, 'RSA') }
  say('One API process, and two …')
  await throughApis(setting, [stack.baseUrl])
  const api = await secondApi(stack)
  const [issueOne, readOne] = await throughApis(setting, [stack.baseUrl])
  const [issueTwo, readTwo] = await throughApis(setting, [stack.baseUrl, api.base])
  await api.part.stop()
  say('One worker, and two …')
  const orderOne = await order(bulk)
  const worker = await secondWorker(stack)
  const orderTwo = await order(bulk)
  const [issueWorkers] = await throughApis(setting, [stack.baseUrl])
  await worker.stop()
  const rate = (measured: Measured | undefined): number => measured?.perSecond ?? 0
  return [
    rowOf('v1 create, 32 clients: API processes', rate(issueOne), rate(issueTwo)),
    rowOf('GET /realms/{id}, 32 clients: API processes', rate(readOne), rate(readTwo)),
    rowOf(`order of ${orderSize}: workers`, orderOne, orderTwo),
    rowOf('v1 create, 32 clients: workers', rate(issueOne), rate(issueWorkers)),
  ]
}

const stack = await startStack()
try {
  const rows = await measureAll(stack)
  console.table(rows)
  mkdirSync('bench/results', { recursive: true })
  const result = { date: new Date().toISOString(), machine: machine(), rows }
  writeFileSync('bench/results/scale.json', `${JSON.stringify(result, null, 2)}\n`)
  keepTable('scale', rows, { work: 'Work', one: 'With one, a second', two: 'With two, a second', speedUp: 'Speed-up' })
  say('Kept in bench/results/scale.json and docs/performance.md')
} finally {
  await stopRemaining()
  await stack.stop()
}
