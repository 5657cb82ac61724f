// `npm run bench`: latency of a single issue, throughput of an order, and where the time goes, beside the machine's own
// limit in the same run. BENCH_ORDER_SIZE says how large the order is (10,000), BENCH_ORDERS how many of them follow each other
// (1): with several, each one's rate is kept in bench/results/many-orders.json, else all of it in bench/results/latest.json.
import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { eventLoopBetween, eventLoopMetrics, type EventLoop } from './event-loop.ts'
import { measureLatency, type Latency } from './latency.ts'
import { cpuSeconds, machine, rawRsaSignaturesPerSecond } from './machine.ts'
import { measureOrder, type OrderRun } from './order.ts'
import { keepTable } from './performance-page.ts'
import { makeScene, storeRequests } from './scene.ts'
import { startStack, type BenchStack } from './stack.ts'

const orderSize = Number(process.env['BENCH_ORDER_SIZE'] ?? 10_000)
const orderCount = Number(process.env['BENCH_ORDERS'] ?? 1)
const loads = [
  { clients: 1, calls: 100 },
  { clients: 8, calls: 400 },
  { clients: 32, calls: 800 },
]
const opensslSeconds = 3

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const rounded = (ms: number): number => Math.round(ms * 10) / 10

/** Processor time of each part in milliseconds, divided by the calls. */
const cpuByCallOf = (before: Map<string, number>, now: Map<string, number>, calls: number): Record<string, number> =>
  Object.fromEntries(
    [...now].map(([part, seconds]) => [part, rounded(((seconds - (before.get(part) ?? 0)) * 1000) / calls)]),
  )

const principalOf = async ({ demo }: BenchStack): Promise<string> =>
  (await demo<{ id: string }>('GET /authenticated-principal/')).id

const measureSingle = async (stack: BenchStack) => {
  const single = await makeScene(stack, 'EC')
  const principalId = await principalOf(stack)
  const latency: (Latency & { cpuMs: number })[] = []
  const cpuByCall: Record<string, number>[] = []
  for (const { clients, calls } of loads) {
    const ids = await storeRequests(stack.databaseUrl, principalId, { ...single, count: calls })
    const before = cpuSeconds(stack.parts())
    const measured = await measureLatency(stack.demo, ids, clients)
    const parts = cpuByCallOf(before, cpuSeconds(stack.parts()), calls)
    cpuByCall.push(parts)
    latency.push({ ...measured, cpuMs: rounded(Object.values(parts).reduce((sum, ms) => sum + ms, 0)) })
  }
  say('(a) Synchronous create, P-256 keys in PKCS#10, EC CA (milliseconds; cpuMs: processor time a call, then by part)')
  console.table(latency)
  console.table(cpuByCall)
  return { latency, cpuByCall }
}

interface Order extends OrderRun {
  readonly eventLoop: EventLoop
}

/** So many orders one after the other, all in one realm; the requests of each are stored before it begins. */
const measureOrders = async (stack: BenchStack): Promise<Order[]> => {
  const bulk = await makeScene(stack, 'RSA')
  const principalId = await principalOf(stack)
  const orders: Order[] = []
  for (let index = 0; index < orderCount; index++) {
    const ids = await storeRequests(stack.databaseUrl, principalId, { ...bulk, count: orderSize })
    // The worker tells of its event loop every two seconds.
    await wait(2500)
    const before = await eventLoopMetrics(stack.metricsUrl)
    const order = await measureOrder(stack.demo, ids, stack.parts())
    await wait(2500)
    orders.push({ ...order, eventLoop: eventLoopBetween(before, await eventLoopMetrics(stack.metricsUrl)) })
    if (orderCount > 1) say(`Order ${index + 1}: ${order.perSecond} certificates a second`)
  }
  return orders
}

const sayOrder = ({ eventLoop, cpu, ...order }: Order, limits: { raw: number; ratio: number }): void => {
  say(`(b) Order of ${orderSize} PKCS#10 requests (P-256 keys, CA with RSA-2048)`)
  console.table([{ ...order, opensslSignaturesPerSecond: limits.raw, ratio: limits.ratio }])
  say('(c) CPU seconds by part during the order')
  console.table([cpu])
  say('    How long the event loop of the worker was blocked, in milliseconds: by anything, and by its own work')
  console.table({ all: eventLoop.all, own: eventLoop.own })
}

const run = async () => {
  say('Starting a stack of its own …')
  const stack = await startStack()
  try {
    const single = orderCount === 1 ? await measureSingle(stack) : {}
    const orders = await measureOrders(stack)
    const raw = rawRsaSignaturesPerSecond(opensslSeconds)
    const [first] = orders
    if (!first) throw new Error('BENCH_ORDERS must be 1 or more.')
    const ratio = Math.round((first.perSecond / raw) * 1000) / 1000
    sayOrder(first, { raw, ratio })
    const { eventLoop, ...order } = first
    const about = { date: new Date().toISOString(), machine: machine() }
    return { about, orders, whole: { ...about, ...single, order, opensslSignaturesPerSecond: raw, ratio, eventLoop } }
  } finally {
    await stack.stop()
  }
}

const keep = (name: string, result: object): void => {
  mkdirSync('bench/results', { recursive: true })
  writeFileSync(`bench/results/${name}.json`, `${JSON.stringify(result, null, 2)}\n`)
  say(`Kept in bench/results/${name}.json`)
}

const rowOf = ({ certificates, perSecond, cpu, eventLoop }: Order, index: number) => ({
  order: index + 1,
  certificates,
  perSecond,
  worker: rounded(((cpu['Worker'] ?? 0) * 1000) / certificates),
  database: rounded(((cpu['PostgreSQL'] ?? 0) * 1000) / certificates),
  blocked: `${eventLoop.all.p99} / ${eventLoop.all.max}`,
  own: `${eventLoop.own.p99} / ${eventLoop.own.max}`,
})

const { about, orders, whole } = await run()
if (orders.length === 1) keep('latest', whole)
else {
  keep('many-orders', { ...about, orders })
  keepTable('orders', orders.map(rowOf), {
    order: 'Order',
    certificates: 'Certificates',
    perSecond: 'A second',
    worker: 'Worker, ms each',
    database: 'PostgreSQL, ms each',
    blocked: 'Event loop blocked, p99 / longest, ms',
    own: 'of it by its own work',
  })
}
