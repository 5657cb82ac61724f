// `npm run bench:waiting`: the memory of the worker while orders wait for approval, with none of them, when its cache of runs
// is full, with half and with all. BENCH_WAITING_ORDERS says how many (20,000), BENCH_WAITING_SECONDS how long they may take
// to open: what is open by then is measured and recorded. Kept in bench/results/waiting.json.
import { writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Connection, type Client } from '@temporalio/client'
import { freePort } from '../embedded/processes/ports.ts'
import { openStorage } from '../storage/orm.ts'
import { memoryOf, type Memory } from './heap.ts'
import { cpuSeconds, machine } from './machine.ts'
import { makeScene, storeRequests } from './scene.ts'
import { startStack, type BenchStack } from './stack.ts'
import { openOrders, sealingClient, waitingOrders, type Place } from './waiting-orders.ts'

const wanted = Number(process.env['BENCH_WAITING_ORDERS'] ?? 20_000)
const seconds = Number(process.env['BENCH_WAITING_SECONDS'] ?? 3600)
const taskQueue = 'certwright'
/** So many orders have more runs than the worker keeps in memory. */
const fullCache = Math.min(1000, wanted / 4)
/** Orders of some days ago, as most of those that wait are: the reconciler looks at them in turns. */
const daysOld = 2
/** Before it is measured the worker has so long to do what its schedules ask for, a run of the reconciler among it. */
const restMs = 70_000

const say = (text: string): void => void process.stdout.write(`${text}\n`)

interface Point extends Memory {
  /** Orders that were opened. */
  readonly orders: number
  /** Runs of orders that wait, as Temporal finds them. */
  readonly waitingOrders: number
  /** All open runs: each order has one, and so has its request, which waits for the approvers. */
  readonly openRuns: number
  /** Runs that the worker has in memory. */
  readonly cachedRuns: number
  /** Since the first was opened. */
  readonly minutes: number
}

const cachedRuns = async (metricsUrl: string): Promise<number> => {
  const text = await (await fetch(metricsUrl)).text()
  return Number(/^temporal_sticky_cache_size\{.*\} (\d+)/m.exec(text)?.[1])
}

const measurer = ({ parts, metricsUrl }: BenchStack, client: Client, inspectorPort: number) => {
  const worker = parts().find(({ name }) => name === 'Worker')
  if (!worker) throw new Error('The stack has no worker.')
  const begin = performance.now()
  return async (orders: number): Promise<Point> => {
    const minutes = Math.round((performance.now() - begin) / 6000) / 10
    await wait(restMs)
    const { count: openRuns } = await client.workflow.count('ExecutionStatus = "Running"')
    const runs = {
      orders,
      waitingOrders: await waitingOrders(client),
      openRuns,
      cachedRuns: await cachedRuns(metricsUrl),
    }
    const point = { ...runs, minutes, ...(await memoryOf(worker.pid, inspectorPort)) }
    console.table([point])
    console.table([Object.fromEntries(cpuSeconds(parts()))])
    return point
  }
}

/** Opens orders up to each of these numbers, as far as the time allows, and measures there. */
const run = async (stack: BenchStack, place: Place, inspectorPort: number): Promise<Point[]> => {
  const scene = await makeScene(stack, 'EC')
  const date = new Date(Date.now() - daysOld * 86_400_000)
  const end = performance.now() + seconds * 1000
  const store = (count: number) =>
    storeRequests(stack.databaseUrl, place.principalId, { ...scene, count, waiting: true, date })
  // The code of issuing and of waiting is there before the first measurement.
  let orders = await openOrders(place, await store(20), end)
  const measure = measurer(stack, place.client, inspectorPort)
  const points = [await measure(orders)]
  const half = (performance.now() + end) / 2
  for (const [upTo, until] of [
    [fullCache, half],
    [wanted / 2, half],
    [wanted, end],
  ] as const) {
    orders += await openOrders(place, await store(Math.max(0, upTo - orders)), until)
    points.push(await measure(orders))
  }
  return points
}

const withStack = async (stack: BenchStack, inspectorPort: number): Promise<Point[]> => {
  const { id: principalId } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
  const connection = await Connection.connect({ address: stack.temporalAddress })
  const orm = await openStorage({ url: stack.databaseUrl, connections: 12 })
  const client = sealingClient(connection, stack.payloadKeys)
  try {
    return await run(stack, { em: () => orm.em.fork(), client, taskQueue, principalId }, inspectorPort)
  } finally {
    await orm.close()
    await connection.close()
  }
}

const inspectorPort = await freePort()
process.env['NODE_OPTIONS'] = `--inspect-port=127.0.0.1:${inspectorPort}`
const stack = await startStack()
try {
  const points = await withStack(stack, inspectorPort)
  const command = `BENCH_WAITING_ORDERS=${wanted} BENCH_WAITING_SECONDS=${seconds} npm run bench:waiting`
  const kept = { date: new Date().toISOString(), command, machine: machine(), unit: 'MiB', points }
  writeFileSync('bench/results/waiting.json', `${JSON.stringify(kept, null, 2)}\n`)
  say('Kept in bench/results/waiting.json')
} finally {
  await stack.stop()
}
