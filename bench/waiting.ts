// `npm run bench:waiting`: the memory of the worker while orders wait for approval, with none of them, half and all.
// BENCH_WAITING_ORDERS says how many (20,000), BENCH_WAITING_SECONDS how long they may take to open: what is open by then
// is measured and recorded. Kept in bench/results/waiting.json.
import { writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { freePort } from '../embedded/processes/ports.ts'
import { temporalNamespace } from '../embedded/servers/temporal.ts'
import { memoryOf, type Memory } from './heap.ts'
import { machine } from './machine.ts'
import { makeScene, storeRequests } from './scene.ts'
import { startStack, type BenchStack } from './stack.ts'

const wanted = Number(process.env['BENCH_WAITING_ORDERS'] ?? 20_000)
const seconds = Number(process.env['BENCH_WAITING_SECONDS'] ?? 3600)
const clients = 8
/** After its last order the worker may still be busy: it is measured when the number of waiting runs stands still. */
const restMs = 20_000

const say = (text: string): void => void process.stdout.write(`${text}\n`)

interface Point extends Memory {
  /** Orders that were placed. */
  readonly orders: number
  /** Runs of orders that wait, as Temporal finds them. */
  readonly waitingOrders: number
  /** All open runs: each request of an order has one that waits for its approvers. */
  readonly openRuns: number
}

/** Places an order for each request, a few at a time, until the time is over; answers how many. */
const place = async ({ demo }: BenchStack, ids: readonly string[], end: number): Promise<number> => {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < ids.length && performance.now() < end) {
      const id = ids[next++]
      await demo(`POST /api/v2/certificates/cert-requests/${id}?omitArtifacts=true`)
    }
  }
  await Promise.all(Array.from({ length: clients }, lane))
  return next
}

const measurer = async (stack: BenchStack, inspectorPort: number) => {
  const connection = await Connection.connect({ address: stack.temporalAddress })
  const { workflow } = new Client({ connection, namespace: temporalNamespace })
  const count = async (query: string): Promise<number> => (await workflow.count(query)).count
  const worker = stack.parts().find(({ name }) => name === 'Worker')
  if (!worker) throw new Error('The stack has no worker.')
  const waiting = () => count('CertKind = "ORDER" AND CertReqState = "WAITING" AND ExecutionStatus = "Running"')
  const atRest = async (orders: number): Promise<number> => {
    for (let tries = 0; tries < 30 && (await waiting()) < orders; tries++) await wait(2000)
    await wait(restMs)
    return waiting()
  }
  const measure = async (orders: number): Promise<Point> => {
    const waitingOrders = await atRest(orders)
    const openRuns = await count('ExecutionStatus = "Running"')
    const point = { orders, waitingOrders, openRuns, ...(await memoryOf(worker.pid, inspectorPort)) }
    console.table([point])
    return point
  }
  return { measure, close: () => connection.close() }
}

const run = async (stack: BenchStack, inspectorPort: number): Promise<Point[]> => {
  const { id } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
  const scene = await makeScene(stack, 'EC')
  // The code of issuing and of waiting is there before the first measurement.
  const warm = await storeRequests(stack.databaseUrl, id, { ...scene, count: 20, waiting: true })
  await place(stack, warm, Infinity)
  const { measure, close } = await measurer(stack, inspectorPort)
  const points = [await measure(warm.length)]
  const end = performance.now() + seconds * 1000
  for (const until of [end - (seconds * 1000) / 2, end]) {
    const ids = await storeRequests(stack.databaseUrl, id, { ...scene, count: Math.ceil(wanted / 2), waiting: true })
    const placed = await place(stack, ids, until)
    points.push(await measure((points.at(-1)?.orders ?? 0) + placed))
  }
  await close()
  return points
}

const inspectorPort = await freePort()
process.env['NODE_OPTIONS'] = `--inspect-port=127.0.0.1:${inspectorPort}`
const stack = await startStack()
try {
  const points = await run(stack, inspectorPort)
  const command = `BENCH_WAITING_ORDERS=${wanted} BENCH_WAITING_SECONDS=${seconds} npm run bench:waiting`
  const kept = { date: new Date().toISOString(), command, machine: machine(), unit: 'MiB', points }
  writeFileSync('bench/results/waiting.json', `${JSON.stringify(kept, null, 2)}\n`)
  say('Kept in bench/results/waiting.json')
} finally {
  await stack.stop()
}
