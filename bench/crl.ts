// `npm run bench:crl`: from the call that revokes one certificate to the list that tells it, at ten thousand, a hundred thousand
// and a million revoked, by a complete list, a partition and a delta; the memory of the worker, and openssl beside it.
// BENCH_REVOKED names other numbers. Kept in bench/results/crl.json.
import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { gencrl, peakOf, rawSignature, setPeakBack } from './crl-peer.ts'
import { eventLoopBetween, eventLoopMetrics } from './event-loop.ts'
import { machine } from './machine.ts'
import { keepTable } from './performance-page.ts'
import { makeScene, storeRequests, type Scene } from './scene.ts'
import { withoutIndexes } from './search-fill.ts'
import { startStack, type BenchStack } from './stack.ts'

const columns = {
  revoked: 'Revoked',
  told: 'Told by',
  entries: 'Entries',
  listMiB: 'List, MiB',
  callMs: 'Call, ms',
  delayMs: 'Call to list, ms',
  workerPeakMiB: 'Worker at most, MiB',
  workerMoreMiB: 'More than before',
  pauseMs: 'Longest pause by its own work, ms',
  fetchMs: 'Fetched in, ms',
  apiMoreMiB: 'API, more MiB',
  gencrlMs: 'openssl ca -gencrl, ms',
  gencrlPeakMiB: 'openssl, MiB',
  signatureMs: 'Bare signature, ms',
}
const sizes = (process.env['BENCH_REVOKED'] ?? '10000,100000,1000000').split(',').map(Number)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3)
const partitions = 16
const say = (text: string): void => void process.stdout.write(`${text}\n`)
const rounded = (value: number): number => Math.round(value * 10) / 10
const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

interface Place {
  readonly stack: BenchStack
  readonly client: Client
  readonly scene: Scene
  readonly caId: string
  readonly providerId: string
  readonly victims: string[]
}

/** Rows of revoked certificates up to this number, each of one of the partitions. */
const fillTo = ({ client, caId, scene }: Place, from: number, to: number): Promise<void> =>
  withoutIndexes(client, `'certificate'`, async () => {
    await client.query('set session_replication_role = replica')
    await client.query(
      `insert into certificate (id, realm_id, policy_id, end_entity_id, cert_request_id, issuer_ca_id, der, serial_number,
         fingerprint, subject_dn, issuer_dn, valid_not_before, valid_not_after, cert_public_key_algorithm, public_key_hash,
         signature_algorithm, subject_alternative_names, key_usages, extended_key_usages, crl_distribution_points, ocsp_urls,
         key_pair_mode, revocation_reason, revocation_date, crl_partition, revocation_crl_number, created_by_type, created_date,
         last_modified_by_type, last_modified_date)
       select gen_random_uuid(), $1, $2, gen_random_uuid(), gen_random_uuid(), $3, '\\x00', '4' || substr(md5(i::text), 2),
         md5(i::text) || md5(i::text), 'CN=' || i, 'CN=Bench', now() - interval '1 day', now() + interval '1 year', 'EC', 'none',
         'SHA256_WITH_ECDSA', '[]', '{}', '{}', '{}', '{}', 'PUBLIC_KEY', 'SUPERSEDED', now() - interval '1 hour',
         1 + i % ${partitions}, 1, 'SYSTEM', now(), 'SYSTEM', now()
         from generate_series($4::int, $5::int - 1) i`,
      [scene.realmId, scene.policyId, caId, from, to],
    )
    await client.query('set session_replication_role = origin')
  })

const first = async <Row>(client: Client, query: string, values: unknown[]): Promise<Row> =>
  (await client.query(query, values)).rows[0] as Row

/** Waits until the records hold this, looking often. */
const untilHolds = async (client: Client, query: string, values: unknown[]): Promise<void> => {
  for (let looks = 0; looks < 60_000; looks++) {
    const { holds } = await first<{ holds: boolean }>(client, `select (${query}) as holds`, values)
    if (holds) return
    await wait(5)
  }
  throw new Error(`It never came true: ${query}`)
}

const pidOf = ({ parts }: BenchStack, name: string): number => {
  const part = parts().find(one => one.name.toLowerCase().includes(name))
  if (!part)
    throw new Error(
      `There is no ${name} among ${parts()
        .map(one => one.name)
        .join(', ')}`,
    )
  return part.pid
}

/** Revokes one certificate and waits for the list that tells it; milliseconds until the answer, and until the list. */
const revokeOne = async ({ stack, client, victims }: Place, partition: number | null) => {
  const id = victims.pop()
  if (id === undefined) throw new Error('There are no certificates left to revoke.')
  await client.query('update certificate set crl_partition = $2 where id = $1', [id, partition])
  const begin = performance.now()
  await stack.demo(`POST /certificates/revoke?id=${id}&revocationReason=SUPERSEDED`)
  const call = performance.now() - begin
  await untilHolds(client, 'select revocation_crl_number is not null from certificate where id = $1', [id])
  return { call, delay: performance.now() - begin }
}

/** Fetches a list as anybody does: milliseconds, and how much more the API had at most. */
const fetchList = async ({ stack, caId }: Place, named: string) => {
  const api = pidOf(stack, 'api')
  setPeakBack(api)
  const before = peakOf(api)
  const begin = performance.now()
  const response = await fetch(`${stack.baseUrl}/pki/crl/${caId}${named}.crl`)
  const { byteLength } = await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`The list ${named} is not there: ${response.status}`)
  return { fetchMs: rounded(performance.now() - begin), apiMoreMiB: rounded(peakOf(api) - before), byteLength }
}

interface Case {
  readonly told: string
  readonly revoked: number
  readonly partition: number | null
  readonly delta: boolean
}

const measure = async (place: Place, { told, revoked, partition, delta }: Case) => {
  const worker = pidOf(place.stack, 'worker')
  const metrics = await eventLoopMetrics(place.stack.metricsUrl)
  setPeakBack(worker)
  const before = peakOf(worker)
  const times: Awaited<ReturnType<typeof revokeOne>>[] = []
  for (let round = 0; round < rounds; round++) times.push(await revokeOne(place, partition))
  const peak = peakOf(worker)
  const { own } = eventLoopBetween(metrics, await eventLoopMetrics(place.stack.metricsUrl))
  const { byteLength, ...fetched } = await fetchList(
    place,
    `${partition ? `-${partition}` : ''}${delta ? '-delta' : ''}`,
  )
  const { entries } = await first<{ entries: number }>(
    place.client,
    'select entries from crl where ca_id = $1 and partition = $2 and delta = $3 order by number desc limit 1',
    [place.caId, partition ?? 0, delta],
  )
  const row = {
    revoked,
    told,
    entries,
    listMiB: rounded(byteLength / 2 ** 20),
    callMs: rounded(median(times.map(({ call }) => call))),
    delayMs: rounded(median(times.map(({ delay }) => delay))),
    workerPeakMiB: rounded(peak),
    workerMoreMiB: rounded(peak - before),
    pauseMs: own.max,
    ...fetched,
    signatureMs: rounded(rawSignature(byteLength)),
  }
  say(`${revoked} revoked, ${told}: ${row.delayMs} ms from the call to the list, worker ${row.workerPeakMiB} MiB`)
  return row
}

/** Changes the provider, and waits until every list that it asks for is there. */
const configure = async ({ stack, client, caId, providerId }: Place, members: object): Promise<void> => {
  await stack.admin(`PATCH /certificate-providers/${providerId}`, { configuration: JSON.stringify(members) })
  const { crlPartitions, deltaCrlHours } = { crlPartitions: 1, deltaCrlHours: 0, ...members }
  const begin = performance.now()
  await untilHolds(
    client,
    `select count(distinct partition) filter (where not delta) >= $2 and (not $3 or count(distinct partition)
       filter (where delta) >= $2) from crl where ca_id = $1`,
    [caId, crlPartitions > 1 ? crlPartitions + 1 : 1, deltaCrlHours > 0],
  )
  say(`All lists of ${JSON.stringify(members)} after ${rounded((performance.now() - begin) / 1000)} s`)
}

const makePlace = async (stack: BenchStack): Promise<Place> => {
  const client = new Client({ connectionString: stack.databaseUrl })
  await client.connect()
  client.on('error', () => {})
  const scene = await makeScene(stack, 'EC')
  const asked = 'select certificate_provider_id as id from policy where id = $1'
  const { id: providerId } = await first<{ id: string }>(client, asked, [scene.policyId])
  const issuing = 'select issuing_ca_id as id from certificate_provider where id = $1'
  await untilHolds(client, 'select issuing_ca_id is not null from certificate_provider where id = $1', [providerId])
  const { id: caId } = await first<{ id: string }>(client, issuing, [providerId])
  const { id } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
  const count = rounds * (sizes.length + 4)
  const requests = await storeRequests(stack.databaseUrl, id, { ...scene, count })
  const victims: string[] = []
  for (const request of requests) {
    const answer = await stack.demo<{ certificate: { id: string } }>(`POST /certificates/cert-requests/${request}`)
    victims.push(answer.certificate.id)
  }
  return { stack, client, scene, caId, providerId, victims }
}

const measureAll = async (place: Place) => {
  const rows: object[] = []
  let filled = 0
  for (const revoked of sizes) {
    await fillTo(place, filled, revoked)
    filled = revoked
    const row = await measure(place, { told: 'complete list', revoked, partition: null, delta: false })
    const peer = await gencrl(revoked)
    rows.push({ ...row, gencrlMs: rounded(peer.seconds * 1000), gencrlPeakMiB: rounded(peer.peak) })
  }
  const most = { revoked: filled, partition: 3 }
  await configure(place, { crlPartitions: partitions })
  rows.push(await measure(place, { ...most, told: `one of ${partitions} partitions`, delta: false }))
  await configure(place, { crlPartitions: partitions, deltaCrlHours: 12 })
  rows.push(await measure(place, { ...most, told: 'delta of a partition', delta: true }))
  rows.push(await measure(place, { ...most, told: 'delta', partition: null, delta: true }))
  return rows
}

const stack = await startStack()
try {
  const place = await makePlace(stack)
  const rows = await measureAll(place)
  await place.client.end()
  console.table(rows)
  mkdirSync('bench/results', { recursive: true })
  const kept = { date: new Date().toISOString(), machine: machine(), rounds, partitions, lists: rows }
  writeFileSync('bench/results/crl.json', `${JSON.stringify(kept, null, 2)}\n`)
  keepTable('crl', rows, columns)
  say('Kept in bench/results/crl.json and docs/performance.md')
} finally {
  await stack.stop()
}
