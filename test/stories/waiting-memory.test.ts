// 2,000 orders wait for approval: beyond the runs that the worker keeps in its cache none costs it memory.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Connection } from '@temporalio/client'
import { memoryOf, type Memory } from '../../bench/heap.ts'
import { storeRequests } from '../../bench/scene.ts'
import { openOrders, sealingClient, waitingOrders, type Place } from '../../bench/waiting-orders.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { makeScene } from './scene.ts'

const wanted = 2000
/** An order has two runs, its own and that of its request: with so many the cache (500 runs) is full. */
const begun = 300
/** A machine that is ten times slower does not open all in the time, and is judged by fewer, but by no fewer than these. */
const fewest = 600
const openingMs = 480_000
/** A run in the cache has 70 to 100 KiB. Collected heaps differ by up to 4 MiB from one measurement to the next. */
const limits = { heap: { MiB: 5, perRunKiB: 1 }, resident: { MiB: 64, perRunKiB: 8 } }
const daysOld = 2

let service: Processes
let connection: Connection
let inspectorPort: number
let optionsBefore: string | undefined

beforeAll(async () => {
  inspectorPort = await freePort()
  optionsBefore = process.env['NODE_OPTIONS']
  process.env['NODE_OPTIONS'] = `--inspect-port=127.0.0.1:${inspectorPort}`
  service = await startProcesses()
  connection = await Connection.connect({ address: service.running.temporal.address })
}, 120_000)
afterAll(async () => {
  if (optionsBefore === undefined) delete process.env['NODE_OPTIONS']
  else process.env['NODE_OPTIONS'] = optionsBefore
  await connection?.close()
  await service?.stop()
}, 60_000)

const placeOf = async (): Promise<Place> => ({
  em: () => service.orm.em.fork(),
  client: sealingClient(connection, service.started.secrets.payloadKeys),
  taskQueue: 'certwright',
  principalId: (await service.call('GET', '/api/v1/authenticated-principal')).body.id,
})

const heapsOf = ({ heap, threadHeaps }: Memory): number => heap + threadHeaps

test(
  'the memory of the worker does not grow with the orders that wait',
  async () => {
    const scene = await makeScene(service, 1, { requiresManualApproval: true })
    const place = await placeOf()
    const date = new Date(Date.now() - daysOld * 86_400_000)
    const requests = { ...scene, count: wanted, waiting: true, date }
    const ids = await storeRequests(service.started.migrationUrl, place.principalId, requests)
    const measure = () => memoryOf(service.running.worker.pid, inspectorPort)
    const end = performance.now() + openingMs

    const first = await openOrders(place, ids.slice(0, begun), end)
    const before = await measure()
    const all = first + (await openOrders(place, ids.slice(begun), end))
    const after = await measure()

    expect(all).toBeGreaterThanOrEqual(fewest)
    expect(await waitingOrders(place.client)).toBe(all)
    const runs = 2 * (all - first)
    const [heap, resident] = [heapsOf(after) - heapsOf(before), after.rss - before.rss]
    process.stdout.write(
      `waiting: ${all} orders; ${runs} runs more cost ${heap.toFixed(1)} MiB of heap, ${resident.toFixed(1)} MiB resident\n`,
    )
    expect(heap).toBeLessThan(limits.heap.MiB + (limits.heap.perRunKiB * runs) / 1024)
    expect(resident).toBeLessThan(limits.resident.MiB + (limits.resident.perRunKiB * runs) / 1024)
  },
  openingMs + 600_000,
)
