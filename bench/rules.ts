// `npm run bench:rules`: the search of a realm's end entities by a policy of a hundred rules: how long it takes, how long it
// keeps the event loop, and what memory it needs. BENCH_END_ENTITIES says how many there are; kept in bench/results/.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { mapYielding } from '../api/kernel/yielding.ts'
import type { EndEntityRule } from '../domain/policy-rules.ts'
import { findEndEntities } from '../storage/lists/end-entities.ts'
import { Policy } from '../storage/rows/policy.ts'
import { openDatabase, type Database } from './database.ts'
import { machine } from './machine.ts'
import { keepTable } from './performance-page.ts'
import { fillRealm, idOf } from './search-fill.ts'

const columns = {
  rules: 'Rules',
  found: 'Found',
  p50Ms: 'p50, ms',
  cpuMs: 'Processor time of the API, ms',
  longestPauseMs: 'Longest pause of the event loop, ms',
  rssMiB: 'Resident, MiB',
  rssGrowthMiB: 'More than before, MiB',
}
const folder = 'data/bench-rules'
const count = Number(process.env['BENCH_END_ENTITIES'] ?? 20_000)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5)
const say = (text: string): void => void process.stdout.write(`${text}\n`)
const rounded = (value: number): number => Math.round(value * 10) / 10

const hundred = (make: (index: number) => Partial<EndEntityRule>): EndEntityRule[] =>
  Array.from({ length: 100 }, (_, index) => ({ property: 'DOMAIN', requirement: 'OPTIONAL', ...make(index) }))

/** Rules that half of the end entities keep, and what the database can judge of them. */
const cases: readonly (readonly [string, EndEntityRule[]])[] = [
  ['no patterns', hundred(index => ({ property: 'GENERIC', genericKey: `key-${index}`, maxCount: 1 }))],
  [
    'names with a fixed end',
    [
      ...hundred(index => ({ pattern: `.*${'example\\.org'.slice(index % 10)}` })).slice(1),
      { property: 'COMMON_NAME', requirement: 'REQUIRED', pattern: 'even-.*' },
    ],
  ],
  [
    'character classes',
    [
      ...hundred(index => ({ pattern: `(?:[a-z0-9-]+\\.)+exampl[d-f]\\.org|never-${index}` })).slice(1),
      { property: 'COMMON_NAME', requirement: 'REQUIRED', pattern: 'even-[0-9]{1,6}' },
    ],
  ],
  [
    'flags, which leave all to the pages',
    [
      ...hundred(index => ({ pattern: `(?i)(?:[a-z0-9-]+\\.)+exampl[d-f]\\.org|never-${index}` })).slice(1),
      { property: 'COMMON_NAME', requirement: 'REQUIRED', pattern: '(?i)EVEN-[0-9]{1,6}' },
    ],
  ],
]

const filledDatabase = async (): Promise<Database> => {
  rmSync(folder, { recursive: true, force: true })
  const database = await openDatabase(folder)
  await fillRealm(database.client, count)
  return database
}

const searcher = ({ orm }: Database) => {
  const reader = { id: idOf('principal', 0), global: new Set(['ADMIN'] as const) }
  const realm = { realmId: idOf('realm', 0), simpleSearchTerm: null, endEntityIds: null, archived: false }
  const page = { page: 0, size: 20, sort: [] }
  return async (endEntityRules: EndEntityRule[]) => {
    const em = orm.em.fork()
    const policy = await em.findOneOrFail(Policy, idOf('policy', 0))
    Object.assign(policy, { endEntityRules })
    return findEndEntities(em, reader, { ...realm, policy, passwordPolicy: undefined, page, judgeEach: mapYielding })
  }
}

/** Most bytes of this process in memory so far; the kernel's own mark, which can be set back. */
const peak = (): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024
const setPeakBack = (): void => writeFileSync('/proc/self/clear_refs', '5')

const measure = async (search: () => Promise<unknown>) => {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  await search()
  setPeakBack()
  const before = peak()
  const times: number[] = []
  const used = process.cpuUsage()
  delays.enable()
  for (let round = 0; round < rounds; round++) {
    const begin = performance.now()
    await search()
    times.push(performance.now() - begin)
  }
  delays.disable()
  const { user, system } = process.cpuUsage(used)
  const sorted = times.toSorted((one, other) => one - other)
  return {
    p50Ms: rounded(sorted[Math.floor(rounds / 2)] ?? 0),
    cpuMs: rounded((user + system) / 1000 / rounds),
    longestPauseMs: rounded(delays.max / 1e6),
    rssMiB: rounded(peak()),
    rssGrowthMiB: rounded(peak() - before),
  }
}

const database = await filledDatabase()
try {
  const search = searcher(database)
  const rows = []
  for (const [rules, endEntityRules] of cases) {
    const { totalElements: found } = await search(endEntityRules)
    rows.push({ rules, found, ...(await measure(() => search(endEntityRules))) })
    say(`${rules}: ${rows.at(-1)?.p50Ms} ms`)
  }
  console.table(rows)
  mkdirSync('bench/results', { recursive: true })
  const kept = { date: new Date().toISOString(), machine: machine(), endEntities: count, rounds, searches: rows }
  writeFileSync('bench/results/rules.json', `${JSON.stringify(kept, null, 2)}\n`)
  keepTable('rules', rows, columns)
  say('Kept in bench/results/rules.json and docs/performance.md')
} finally {
  await database.stop()
}
