// `npm run bench:search`: the first page of each search at a million certificates, beside `select 1` in the same run, with
// the plans of the queries. The database is kept in data/bench-search for the next run.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import type { Client } from 'pg'
import pino from 'pino'
import { operations } from '../api/app.ts'
import { readMembers } from '../api/kernel/errors.ts'
import { perform } from '../api/kernel/perform.ts'
import { connectTemporal } from '../api/kernel/temporal.ts'
import type { Dependencies } from '../api/kernel/dependencies.ts'
import { Seal } from '../storage/seal.ts'
import { Settings } from '../storage/settings.ts'
import { openDatabase, type Database } from './database.ts'
import { machine } from './machine.ts'
import { searchCases, type SearchCase } from './search-cases.ts'
import { fill, idOf, sizes } from './search-fill.ts'
import { explain, type Plan } from './search-plans.ts'

const folder = 'data/bench-search'
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 40)
/** Measures the cases whose names hold this, and keeps nothing. */
const only = process.env['BENCH_ONLY'] ?? ''
const say = (text: string): void => void process.stdout.write(`${text}\n`)
const percentile = (times: readonly number[], share: number): number =>
  Math.round((times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1] ?? 0) * 100) / 100

const principals: Record<SearchCase['as'], string> = {
  ADMIN: idOf('principal', 0),
  ONE_REALM: idOf('principal', 1),
  FEW_CERTIFICATES: idOf('principal', 2),
}

const giveGrants = async (client: Client): Promise<void> => {
  await client.query('delete from permission_grant where principal_id = any($1)', [Object.values(principals)])
  const give = (principal: string, scope: string, [resources, permission]: [string[], string]) =>
    client.query(
      'insert into permission_grant (principal_id, scope, resource_id, permissions) select $1, $2, id, $4 from unnest($3::uuid[]) id',
      [principal, scope, resources, [permission]],
    )
  await give(principals.ADMIN, 'GLOBAL', [[principals.ADMIN], 'ADMIN'])
  await give(principals.ONE_REALM, 'REALM', [[idOf('realm', 3)], 'CERTS_READ'])
  const few = Array.from({ length: 100 }, (_, index) => idOf('certificate', index * 9973))
  await give(principals.FEW_CERTIFICATES, 'CERTIFICATE', [few, 'READ'])
}

const filledDatabase = async (): Promise<Database> => {
  const database = await openDatabase(folder)
  const { client } = database
  if (!existsSync(`${folder}/filled`)) {
    say(`Filling ${sizes.certificates} certificates and ${sizes.endEntities} end entities …`)
    await fill(client, say)
    writeFileSync(`${folder}/filled`, '')
  }
  await giveGrants(client)
  return database
}

/** What operations work with; a search reaches the database alone. */
const dependenciesOf = ({ orm }: Database): Dependencies => ({
  orm,
  temporal: connectTemporal({ address: '127.0.0.1:1', namespace: 'none', taskQueue: 'none' }),
  authenticate: () => Promise.reject(new Error('Nobody is asked for a token here.')),
  settings: new Settings(orm.em),
  seal: new Seal(new Map([['bench', Buffer.alloc(32)]])),
  clock: () => new Date(),
  log: pino({ level: 'silent' }),
  baseUrl: 'http://localhost',
})

const callerOf = (deps: Dependencies, { operationId, as, body, params, query = {} }: SearchCase) => {
  const operation = operations[operationId]
  if (!operation) throw new Error(`${operationId} is not there.`)
  const schema = operation.body
  const principal = { id: principals[as], type: 'API_CLIENT' as const, name: 'bench' }
  const page = { page: 0, size: 20, sort: [] }
  return async (round: number) => {
    const given = schema && (await readMembers(schema, body(round)))
    return perform(operation, { params: params?.(round) ?? {}, query, body: given, page, principal }, deps)
  }
}

const timesOf = async (call: (round: number) => Promise<unknown>): Promise<number[]> => {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const begin = performance.now()
    await call(round)
    times.push(performance.now() - begin)
  }
  return times
}

const measure = async (database: Database) => {
  const deps = dependenciesOf(database)
  const floor = await timesOf(() => database.client.query('select 1'))
  const floorP95 = percentile(floor, 0.95)
  say(`select 1: p95 ${floorP95} ms`)
  const rows = []
  const plans: Plan[] = []
  for (const searchCase of searchCases.filter(({ name }) => name.includes(only))) {
    const call = callerOf(deps, searchCase)
    await call(rounds)
    const times = await timesOf(call)
    const own = await explain(database, { name: searchCase.name, call: () => call(1) })
    plans.push(...own)
    const sequential = [...new Set(own.flatMap(plan => plan.sequential))].join(' ')
    const row = { name: searchCase.name, p50: percentile(times, 0.5), p95: percentile(times, 0.95), sequential }
    say(`${row.name}: p50 ${row.p50} ms, p95 ${row.p95} ms${sequential && `, SEQUENTIAL SCAN OF ${sequential}`}`)
    rows.push(row)
  }
  return { floorP95, rows, plans }
}

const keep = ({ floorP95, rows, plans }: Awaited<ReturnType<typeof measure>>): void => {
  mkdirSync('bench/results', { recursive: true })
  const result = {
    date: new Date().toISOString(),
    machine: machine(),
    sizes,
    rounds,
    select1P95: floorP95,
    searches: rows,
  }
  writeFileSync('bench/results/search.json', `${JSON.stringify(result, null, 2)}\n`)
  writeFileSync('bench/results/search-plans.txt', plans.map(({ text }) => text).join('\n'))
  say('Kept in bench/results/search.json and search-plans.txt')
}

const database = await filledDatabase()
try {
  const { floorP95, rows, plans } = await measure(database)
  console.table(rows.map(row => ({ ...row, timesSelect1: Math.round(row.p95 / floorP95) })))
  if (!only) keep({ floorP95, rows, plans })
} finally {
  await database.stop()
}
