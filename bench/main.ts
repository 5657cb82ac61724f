// `npm run bench`: latency of a single issue, throughput of an order, and where the time goes, beside the machine's own
// limit in the same run. The last result is kept in bench/results/.
import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { measureLatency, type Latency } from './latency.ts'
import { cpuSeconds, machine, rawRsaSignaturesPerSecond } from './machine.ts'
import { measureOrder } from './order.ts'
import { makeScene, storeRequests } from './scene.ts'
import { startStack } from './stack.ts'

const orderSize = Number(process.env['BENCH_ORDER_SIZE'] ?? 10_000)
const loads = [
  { clients: 1, calls: 100 },
  { clients: 8, calls: 400 },
  { clients: 32, calls: 800 },
]
const opensslSeconds = 3

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const eventLoopDelays = async (url: string): Promise<Record<string, number>> => {
  const text = await (await fetch(url)).text()
  const found = text.matchAll(/^certwright_event_loop_delay_(\w+?)(?:_milliseconds)?(?:\{[^}]*\})? ([\d.]+)/gm)
  return Object.fromEntries([...found].map(([, name = '', value]) => [name, Number(value)]))
}

const rounded = (ms: number): number => Math.round(ms * 10) / 10

/** Processor time of each part in milliseconds, divided by the calls. */
const cpuByCallOf = (before: Map<string, number>, now: Map<string, number>, calls: number): Record<string, number> =>
  Object.fromEntries(
    [...now].map(([part, seconds]) => [part, rounded(((seconds - (before.get(part) ?? 0)) * 1000) / calls)]),
  )

const run = async () => {
  say('Starting a stack of its own …')
  const stack = await startStack()
  try {
    const { id: principalId } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
    const single = await makeScene(stack, 'EC')
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
    say(
      '(a) Synchronous create, P-256 keys in PKCS#10, EC CA (milliseconds; cpuMs: processor time a call, then by part)',
    )
    console.table(latency)
    console.table(cpuByCall)

    const bulk = await makeScene(stack, 'RSA')
    const ids = await storeRequests(stack.databaseUrl, principalId, { ...bulk, count: orderSize })
    await wait(2000)
    const order = await measureOrder(stack.demo, ids, stack.parts())
    const raw = rawRsaSignaturesPerSecond(opensslSeconds)
    const ratio = Math.round((order.perSecond / raw) * 1000) / 1000
    const delays = await eventLoopDelays(stack.metricsUrl)
    say(`(b) Order of ${orderSize} PKCS#10 requests (P-256 keys, CA with RSA-2048)`)
    console.table([{ ...order, cpu: undefined, opensslSignaturesPerSecond: raw, ratio }])
    say('(c) CPU seconds by part during the order; longest pauses of the worker event loop (milliseconds)')
    console.table([order.cpu])
    console.table([delays])
    return {
      date: new Date().toISOString(),
      machine: machine(),
      latency,
      cpuByCall,
      order,
      opensslSignaturesPerSecond: raw,
      ratio,
      eventLoopDelay: delays,
    }
  } finally {
    await stack.stop()
  }
}

const result = await run()
mkdirSync('bench/results', { recursive: true })
writeFileSync('bench/results/latest.json', `${JSON.stringify(result, null, 2)}\n`)
say('Kept in bench/results/latest.json')
