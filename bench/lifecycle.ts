// `node bench/lifecycle.ts <checkout of another version>`: the latency of a synchronous create of this version, plain and
// with mail on and a mailing list on the realm, beside that of the other. Both stacks run at once and are asked in turns,
// so that what else the machine does meets all of them. Kept in bench/results/lifecycle.json.
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { measureLatency, type Latency } from './latency.ts'
import { machine } from './machine.ts'
import { makeScene, type Scene } from './scene.ts'
import { startStack, type BenchStack } from './stack.ts'

const loads = [
  { clients: 1, calls: 40 },
  { clients: 8, calls: 80 },
]
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 8)
const mostSlower = 1.2

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** One version under one configuration. */
interface Contender {
  readonly name: string
  /** Stores so many requests and answers their ids. */
  readonly store: (count: number) => Promise<string[]>
  readonly stack: BenchStack
}

interface Place {
  readonly stack: BenchStack
  readonly scene: Scene
}

/** Rows are stored by the code of the version that they are for. */
const sceneModule = async (checkout: string): Promise<typeof import('./scene.ts')> =>
  import(pathToFileURL(resolve(join(checkout, 'bench/scene.ts'))).href) as Promise<typeof import('./scene.ts')>

const contender = async (name: string, checkout: string, { stack, scene }: Place): Promise<Contender> => {
  const { storeRequests } = await sceneModule(checkout)
  const { id } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
  return { name, stack, store: count => storeRequests(stack.databaseUrl, id, { ...scene, count }) }
}

const turnMailOn = async ({ admin, smtpPort }: BenchStack): Promise<void> => {
  const values = { 'mail.host': '127.0.0.1', 'mail.port': String(smtpPort), 'mail.from': 'ca@bench.example' }
  for (const [settingsKey, value] of Object.entries({ ...values, 'mail.enabled': 'true' }))
    await admin('PATCH /configuration', { settingsKey, value })
}

/** A realm like that of another scene, over the same provider, with a mailing list. */
const listedScene = async ({ admin, demo }: BenchStack, other: Scene): Promise<Scene> => {
  const list = await admin<{ id: string }>('POST /mailing-lists/', { name: 'Bench', emails: ['ops@bench.example'] })
  const realm = await demo<{ id: string }>('POST /realms/', { name: 'Bench with a list', mailingListId: list.id })
  const { certificateProviderId } = await demo<{ certificateProviderId: string }>(`GET /policies/${other.policyId}`)
  const policy = await demo<{ id: string }>('POST /policies/', {
    realmId: realm.id,
    name: 'Bench',
    certificateProviderId,
    certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
  })
  return { realmId: realm.id, policyId: policy.id }
}

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

/** The medians over the rounds. */
const figure = (rows: readonly Latency[]) => ({
  clients: rows[0]?.clients ?? 0,
  calls: rows.reduce((sum, { calls }) => sum + calls, 0),
  p50: median(rows.map(({ p50 }) => p50)),
  p95: median(rows.map(({ p95 }) => p95)),
  perSecond: median(rows.map(({ perSecond }) => perSecond)),
})

/** Each contender in turn, round after round; the first round warms up and is not counted. */
const measure = async (contenders: readonly Contender[], { clients, calls }: (typeof loads)[number]) => {
  const rows = new Map<string, Latency[]>(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round++)
    for (const { name, stack, store } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const latency = await measureLatency(stack.demo, await store(calls), clients)
      rows.get(name)?.push(latency)
      say(`${clients} client(s), round ${round}, ${name}: p50 ${latency.p50} ms`)
    }
  return Object.fromEntries([...rows].map(([name, list]) => [name, figure(list.slice(1))]))
}

const compare = async (other: BenchStack, own: BenchStack, checkout: string) => {
  const before = await (await sceneModule(checkout)).makeScene(other, 'EC')
  const plain = await makeScene(own, 'EC')
  const listed = await listedScene(own, plain)
  const contenders = [
    await contender('earlier', checkout, { stack: other, scene: before }),
    await contender('present', '.', { stack: own, scene: plain }),
    await contender('present, mail on, a list on the realm', '.', { stack: own, scene: listed }),
  ]
  await turnMailOn(own)
  const results = []
  for (const load of loads) results.push(await measure(contenders, load))
  for (const result of results) console.table(result)
  return results.map(result => {
    const earlier = result['earlier']?.p50 ?? 0
    const ratios = Object.fromEntries(
      Object.entries(result).map(([name, { p50 }]) => [name, Math.round((p50 / earlier) * 100) / 100]),
    )
    return { latency: result, ratioOfP50: ratios, isWithinBound: Object.values(ratios).every(one => one <= mostSlower) }
  })
}

const checkout = process.argv[2]
if (checkout === undefined) throw new Error('Name the checkout of the version to compare with, its packages installed.')
const other = await startStack(checkout)
const own = await startStack()
try {
  const results = await compare(other, own, checkout)
  const command = `BENCH_ROUNDS=${rounds} node bench/lifecycle.ts <checkout>`
  const kept = { date: new Date().toISOString(), command, machine: machine(), rounds, mostSlower, results }
  writeFileSync('bench/results/lifecycle.json', `${JSON.stringify(kept, null, 2)}\n`)
  say('Kept in bench/results/lifecycle.json')
} finally {
  await own.stop()
  await other.stop()
}
