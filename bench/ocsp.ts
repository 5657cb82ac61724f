// `npm run bench:ocsp`: answers of our OCSP responder a second, from kept signatures and signed for each question, at 1, 8 and 32
// clients, and the bare signing rate of the processors beside it. BENCH_ANSWERS names how many questions
// each row asks. Kept in bench/results/ocsp.json.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { parseCertificate, parseCertificatePem } from '../pki/certificate/certificate.ts'
import { encodeOcspRequest } from '../pki/ocsp/request.ts'
import { decodePem } from '../pki/pem.ts'
import { measureCalls } from './latency.ts'
import { cpuSeconds, machine, rawEcSignaturesPerSecond } from './machine.ts'
import { keepTable } from './performance-page.ts'
import { makeScene, storeRequests } from './scene.ts'
import { startStack, type BenchStack } from './stack.ts'

const columns = {
  asked: 'Asked',
  clients: 'Clients',
  perSecond: 'Answers a second',
  ofRaw: 'Of the bare signing rate',
  p50: 'p50, ms',
  p99: 'p99, ms',
  cpuMs: 'API, ms of processor an answer',
}
const answers = Number(process.env['BENCH_ANSWERS'] ?? 5000)
const clientCounts = [1, 8, 32]
const certificates = 50
const say = (text: string): void => void process.stdout.write(`${text}\n`)
const rounded = (value: number): number => Math.round(value * 100) / 100

/** A responder: sends one question and throws unless it is answered. */
type Ask = (index: number) => Promise<void>

/** Sends each question over connections that are kept. */
const asking = (send: (agent: Agent, index: number) => ClientRequest): Ask => {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  return async index => {
    const [answer] = (await once(send(agent, index), 'response')) as [IncomingMessage]
    const { length } = await buffer(answer)
    if (answer.statusCode !== 200 || length < 100) throw new Error(`No answer: ${answer.statusCode}, ${length} octets`)
  }
}

const posting = (url: string, bodyOf: (index: number) => Buffer): Ask =>
  asking((agent, index) => {
    const body = bodyOf(index)
    const headers = { 'content-type': 'application/ocsp-request', 'content-length': body.length }
    return request(url, { method: 'POST', agent, headers }).end(body)
  })

const getting = (url: string, bodyOf: (index: number) => Buffer): Ask =>
  asking((agent, index) => request(`${url}/${encodeURIComponent(bodyOf(index).toString('base64'))}`, { agent }).end())

interface Place {
  readonly url: string
  readonly serialNumbers: readonly string[]
  readonly issuer: ReturnType<typeof parseCertificate>
}

/** A CA with some certificates, and where its responder is. */
const makePlace = async (stack: BenchStack): Promise<Place> => {
  const scene = await makeScene(stack, 'EC')
  const { id } = await stack.demo<{ id: string }>('GET /authenticated-principal/')
  const requests = await storeRequests(stack.databaseUrl, id, { ...scene, count: certificates })
  const pems: string[] = []
  for (const one of requests)
    pems.push(
      (await stack.demo<{ certificateChainPem: { pemCertificate: string } }>(`POST /certificates/cert-requests/${one}`))
        .certificateChainPem.pemCertificate,
    )
  const [, issuing] = decodePem(pems[0] ?? '')
  const leaves = pems.map(pem => parseCertificatePem(pem))
  const url = leaves[0]?.ocspUrls[0] ?? ''
  return {
    url,
    serialNumbers: leaves.map(leaf => leaf.serialNumber),
    issuer: parseCertificate(issuing?.der ?? Buffer.alloc(0)),
  }
}

const questionsOf = ({ serialNumbers, issuer }: Place, nonces: boolean) => {
  const plain = serialNumbers.map(serialNumber => encodeOcspRequest({ serialNumber, issuer, nonce: null }))
  return (index: number): Buffer => {
    const serialNumber = serialNumbers[index % serialNumbers.length] ?? ''
    if (nonces) return encodeOcspRequest({ serialNumber, issuer, nonce: randomBytes(32) })
    return plain[index % plain.length] ?? Buffer.alloc(0)
  }
}

interface Measured {
  readonly asked: string
  readonly ask: Ask
  readonly raw: number
  readonly parts: readonly { name: string; pid: number }[]
}

const measure = async ({ asked, ask, raw, parts }: Measured, clients: number) => {
  for (let index = 0; index < certificates; index += 1) await ask(index)
  const before = cpuSeconds(parts)
  const { perSecond, p50, p99 } = await measureCalls({ calls: answers, clients }, ask)
  const after = cpuSeconds(parts)
  const cpu = [...after].reduce((sum, [name, seconds]) => sum + seconds - (before.get(name) ?? 0), 0)
  const cpuMs = parts.length === 0 ? null : rounded((cpu * 1000) / answers)
  say(`${asked}, ${clients} clients: ${perSecond} a second`)
  return { asked, clients, perSecond, ofRaw: Math.round((1000 * perSecond) / raw) / 1000, p50, p99, cpuMs }
}

const stack = await startStack()
try {
  const place = await makePlace(stack)
  const raw = rawEcSignaturesPerSecond(3)
  const parts = stack.parts().filter(({ name }) => name.toLowerCase().includes('api'))
  const cases: Measured[] = [
    { asked: 'GET, a kept signature', ask: getting(place.url, questionsOf(place, false)), raw, parts },
    { asked: 'POST with a nonce, signed', ask: posting(place.url, questionsOf(place, true)), raw, parts },
  ]
  const rows: object[] = []
  for (const [one, clients] of cases.flatMap(each => clientCounts.map(count => [each, count] as const)))
    rows.push(await measure(one, clients))
  say(`Bare P-256 signatures: ${raw} a second (openssl speed, all cores)`)
  console.table(rows)
  mkdirSync('bench/results', { recursive: true })
  const kept = { date: new Date().toISOString(), machine: machine(), answers, rawSignaturesPerSecond: raw, rows }
  writeFileSync('bench/results/ocsp.json', `${JSON.stringify(kept, null, 2)}\n`)
  keepTable('ocsp', rows, columns)
  say('Kept in bench/results/ocsp.json and docs/performance.md')
} finally {
  await stack.stop()
}
