// `npm run bench:peers`: our calls beside what others need for the like, in one run on one machine: step-ca, a bare Koa
// application, an empty Temporal workflow, raw signatures of openssl. BENCH_ISSUES says over how many issues the memory is
// measured (10,000; 0 for none), BENCH_ORDER_SIZE how large the order is (10,000). Kept in bench/results/peers.json.
import { mkdirSync, writeFileSync } from 'node:fs'
import { stopRemaining } from '../embedded/processes/process.ts'
import { machine, rawEcSignaturesPerSecond, rawRsaSignaturesPerSecond } from './machine.ts'
import { measureOrder } from './order.ts'
import { callerOf } from './peers-caller.ts'
import { keepTable } from './performance-page.ts'
import { inspectable, measureMemory } from './peers-memory.ts'
import { issuing, measure, smallCalls, startBareKoa, type Measured, type SmallCall } from './peers-stack.ts'
import { startStepCa, type StepCa } from './peers-step-ca.ts'
import { measureEmptyWorkflow } from './peers-temporal.ts'
import { makeScene, storeRequests, type Scene } from './scene.ts'
import { startStack, type BenchStack } from './stack.ts'

const columns = {
  work: 'Work',
  peer: 'Beside it',
  clients: 'Clients',
  ours: 'Ours',
  theirs: 'Theirs',
  ratio: 'Ratio',
  aim: 'Aim',
  p50: 'p50, ms',
  p99: 'p99, ms',
  cpuMs: 'Processor, ms a call',
}
const memoryColumns = {
  process: 'Process',
  issued: 'Certificates',
  rss: 'Resident, MiB',
  heap: 'Heap, MiB',
  threadHeaps: 'Heaps of its threads, MiB',
  perSecond: 'Certificates a second until then',
}
const issues = Number(process.env['BENCH_ISSUES'] ?? 10_000)
const orderSize = Number(process.env['BENCH_ORDER_SIZE'] ?? 10_000)
const loads = [
  { clients: 1, calls: 100 },
  { clients: 8, calls: 400 },
  { clients: 32, calls: 800 },
]
/** Runs of the empty workflow are told by fewer. */
const mostRuns = 400
/** Small calls are quick: more of them. */
const times = 2
const opensslSeconds = 3
const say = (text: string): void => void process.stdout.write(`${text}\n`)
const ratioOf = (one: number, other: number): number => Math.round((one / other) * 1000) / 1000

/** One line of the table. */
interface Row {
  readonly work: string
  readonly peer: string
  readonly clients: number | null
  readonly ours: number
  readonly theirs: number | null
  readonly ratio: number | null
  readonly aim: string
  readonly p50?: string
  readonly p99?: string
  readonly cpuMs?: string
}

/** Two measurements of the same load, by calls a second. */
const rowOf = (what: Pick<Row, 'work' | 'peer' | 'aim'>, ours: Measured, theirs: Measured | null): Row => ({
  ...what,
  clients: ours.clients,
  ours: ours.perSecond,
  theirs: theirs?.perSecond ?? null,
  ratio: theirs && ratioOf(ours.perSecond, theirs.perSecond),
  p50: `${ours.p50} / ${theirs?.p50 ?? '-'}`,
  p99: `${ours.p99} / ${theirs?.p99 ?? '-'}`,
  cpuMs: `${ours.cpuMs} / ${theirs?.cpuMs ?? '-'}`,
})

const signing = async (stack: BenchStack, scene: Scene, stepCa: StepCa | null): Promise<[Row[], Measured[]]> => {
  const rows: Row[] = []
  const all: Measured[] = []
  const warm = { clients: 4, calls: 40 }
  await measure(warm, [], await issuing(stack, scene, warm.calls))
  for (const load of loads) {
    const ours = await measure(load, stack.parts(), await issuing(stack, scene, load.calls))
    const asked = (await stepCa?.prepare(load.calls)) ?? []
    const parts = [{ name: 'step-ca', pid: stepCa?.pid ?? 0 }]
    const theirs = stepCa && (await measure(load, parts, index => stepCa.sign(asked[index] as (typeof asked)[0])))
    const aim = load.clients === 32 ? '>= 0.4' : ''
    all.push(ours)
    rows.push(rowOf({ work: 'v1 create, P-256', peer: 'step-ca sign', aim }, ours, theirs))
  }
  return [rows, all]
}

/** One small call at each of the loads. */
const smallRows = async (
  { work, peer, aim, ours, theirs }: SmallCall,
  { stack, bare }: { stack: BenchStack; bare: Awaited<ReturnType<typeof startBareKoa>> },
): Promise<Row[]> => {
  const token = await stack.demoToken()
  const our = callerOf({ base: stack.baseUrl, token })
  const their = callerOf({ base: bare.base, token })
  const database = stack.parts().filter(({ name }) => name === 'PostgreSQL')
  const bareParts = [{ name: 'bare Koa', pid: bare.pid }, ...database]
  const rows: Row[] = []
  for (const { clients, calls } of loads) {
    const load = { clients, calls: calls * times }
    const ourTimes = await measure(load, stack.parts(), ours(our, load))
    const theirTimes = await measure(load, bareParts, theirs(their, load))
    rows.push(rowOf({ work, peer, aim: `>= ${aim}` }, ourTimes, theirTimes))
  }
  return rows
}

const small = async (stack: BenchStack, scene: Scene): Promise<Row[]> => {
  const bare = await startBareKoa(stack)
  const rows: Row[] = []
  for (const call of await smallCalls(stack, scene)) rows.push(...(await smallRows(call, { stack, bare })))
  await bare.stop()
  return rows
}

const emptyWorkflow = async ({ temporalAddress }: BenchStack, ours: readonly Measured[]): Promise<Row[]> => {
  const fewer = loads.map(load => ({ ...load, calls: Math.min(load.calls, mostRuns) }))
  const theirs = await measureEmptyWorkflow(temporalAddress, fewer)
  const [alone, last] = [ours.at(0), ours.at(-1)]
  const [bare] = theirs
  if (!alone || !last || !bare) throw new Error('Nothing was measured.')
  const p50 = { work: 'v1 create, p50 in ms', peer: 'empty workflow, p50 in ms', clients: 1, aim: '<= 2.5' }
  const p99 = { work: 'v1 create, p99 in ms at 32 clients', peer: 'its own p50 at 1 client', clients: 32, aim: '<= 4' }
  return [
    { ...p50, ours: alone.p50, theirs: bare.p50, ratio: ratioOf(alone.p50, bare.p50) },
    { ...p99, ours: last.p99, theirs: alone.p50, ratio: ratioOf(last.p99, alone.p50) },
    ...theirs.map(({ clients, perSecond }, index) => {
      const our = ours[index]?.perSecond ?? 0
      const what = { work: 'v1 create, P-256', peer: 'empty workflow', aim: '' }
      return { ...what, clients, ours: our, theirs: perSecond, ratio: ratioOf(our, perSecond) }
    }),
  ]
}

const raw = async (stack: BenchStack, ours: Measured | undefined): Promise<Row[]> => {
  const ec = rawEcSignaturesPerSecond(opensslSeconds)
  const rate = ours?.perSecond ?? 0
  const what = { work: 'v1 create, P-256', peer: 'openssl ecdsap256, all cores', clients: 32, aim: '' }
  const single = { ...what, ours: rate, theirs: ec, ratio: ratioOf(rate, ec) }
  if (orderSize === 0) return [single]
  const { id } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
  const bulk = await makeScene(stack, 'RSA')
  const ids = await storeRequests(stack.databaseUrl, id, { ...bulk, count: orderSize })
  const { perSecond } = await measureOrder(stack.demo, ids, stack.parts())
  const rsa = rawRsaSignaturesPerSecond(opensslSeconds)
  const order = { work: `order of ${orderSize}, RSA-2048 CA`, peer: 'openssl rsa2048, all cores', clients: null }
  return [single, { ...order, ours: perSecond, theirs: rsa, ratio: ratioOf(perSecond, rsa), aim: '>= 0.5' }]
}

const measureAll = async (stack: BenchStack, inspectorPort: number) => {
  const scene = await makeScene(stack, 'EC')
  const stepCa = await startStepCa(say)
  const why = 'why' in stepCa ? stepCa.why : null
  if (why) say(why)
  say('Certificates, one a call …')
  const [signed, ours] = await signing(stack, scene, 'why' in stepCa ? null : stepCa)
  if (!('why' in stepCa)) await stepCa.stop()
  say('An empty workflow …')
  const temporal = await emptyWorkflow(stack, ours)
  say('Small calls …')
  const calls = await small(stack, scene)
  say('Raw signatures …')
  const rows = [...signed, ...temporal, ...calls, ...(await raw(stack, ours.at(-1)))]
  console.table(rows)
  if (issues > 0) say(`Memory over ${issues} issues …`)
  const memory = issues > 0 ? await measureMemory(stack, scene, { issues, inspectorPort }) : []
  console.table(memory)
  return { missing: why, rows, memory }
}

const inspectorPort = await inspectable()
const stack = await startStack()
try {
  const result = { date: new Date().toISOString(), machine: machine(), ...(await measureAll(stack, inspectorPort)) }
  mkdirSync('bench/results', { recursive: true })
  writeFileSync('bench/results/peers.json', `${JSON.stringify(result, null, 2)}\n`)
  keepTable('peers', result.rows, columns)
  keepTable('memory', result.memory, memoryColumns)
  say('Kept in bench/results/peers.json and docs/performance.md')
} finally {
  await stopRemaining()
  await stack.stop()
}
