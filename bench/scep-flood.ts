// `npm run bench:scep-flood`: what a calm device at 127.0.0.2 waits while 127.0.0.1 sends messages that are refused as fast
// as it can, with the limits of a gateway and without. Kept in bench/results/scep-flood.json.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { certificatesIn, connect, csrOf, enrolled, lookupContent, newDevice } from '../test/support/scep-device.ts'
import type { Connection, Device } from '../test/support/scep-device.ts'
import { gatewayProcess } from '../test/support/scep-process.ts'
import { postFrom } from '../test/support/scep-sender.ts'
import { latencyOf, type Latency } from './latency.ts'
import { machine } from './machine.ts'
import type { Flooded, FloodPlan } from './scep-flooder.ts'
import { makeEnrolments, makePolicy } from './scep-scene.ts'
import { startStack } from './stack.ts'

const lookups = Number(process.env['BENCH_LOOKUPS'] ?? 40)
/** Where answers take long, there are fewer. */
const mostMs = 45_000
const connections = 200
const planFile = 'data/scep-flood.json'
/** The flood is at its height before the calm device is measured. */
const headStartMs = 2000

/** What a device waited, and how its lookups ended. */
interface Calm extends Omit<Latency, 'clients'> {
  readonly ends: Readonly<Record<string, number>>
}
interface Measured {
  readonly calm: Calm
  readonly flood?: Flooded
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** A device with a certificate, and the message of one that has none and knows no password. */
const makeDevices = async (url: string, { name, challenge }: { name: string; challenge: string }) => {
  const newcomer = await newDevice(name)
  const before = await connect(url, newcomer)
  const content = await csrOf(name, newcomer.keys, { challengePassword: challenge })
  const [certificate] = certificatesIn(await before.ask({ messageType: 'PKCSReq', content }))
  if (!certificate) throw new Error('The device was not enrolled.')
  const device = enrolled(name, newcomer.keys, certificate)
  const refused = await before.write({ messageType: 'PKCSReq', content: await csrOf(name, newcomer.keys) })
  return { device, connection: await connect(url, device), refused: refused.der }
}

const look = async (url: string, device: Device, connection: Connection): Promise<string> => {
  const request = await connection.write({ messageType: 'GetCert', content: lookupContent(device.certificate) })
  const { status, body } = await postFrom('127.0.0.2', url, request.der)
  return status === 200 ? connection.read(body, request).status : String(status)
}

const measureCalm = async (url: string, device: Device, connection: Connection): Promise<Calm> => {
  const times: number[] = []
  const ends: Record<string, number> = {}
  const begin = performance.now()
  while (times.length < lookups && performance.now() - begin < mostMs) {
    const start = performance.now()
    const end = await look(url, device, connection)
    times.push(performance.now() - start)
    ends[end] = (ends[end] ?? 0) + 1
  }
  const { clients: _, ...latency } = latencyOf(times, { clients: 1, seconds: (performance.now() - begin) / 1000 })
  return { ...latency, ends }
}

/** Measures while a flood of this message goes on. */
const beside = async (url: string, message: Buffer, measure: () => Promise<Calm>): Promise<Measured> => {
  const plan: FloodPlan = { url, connections, message: message.toString('base64') }
  writeFileSync(planFile, JSON.stringify(plan))
  const child = spawn(process.execPath, ['bench/scep-flooder.ts', planFile], { stdio: ['ignore', 'pipe', 'inherit'] })
  const told = text(child.stdout)
  await new Promise(resolve => void setTimeout(resolve, headStartMs))
  try {
    return { calm: await measure(), flood: await finish(child, told) }
  } finally {
    child.kill('SIGKILL')
  }
}

const finish = async (child: ReturnType<typeof spawn>, told: Promise<string>): Promise<Flooded> => {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
  return JSON.parse(await told) as Flooded
}

const show = (name: string, { calm, flood }: Measured): void => {
  say(name)
  console.table([{ ...calm, ends: JSON.stringify(calm.ends) }])
  if (flood) console.table([{ ...flood, statuses: JSON.stringify(flood.statuses) }])
}

type Gateway = Awaited<ReturnType<typeof gatewayProcess>>

/** A gateway of its own, which has counted nobody yet. */
const started = async <T>(gateway: Gateway, work: () => Promise<T>): Promise<T> => {
  const part = await gateway.start()
  try {
    return await work()
  } finally {
    await part.stop()
  }
}

const measureAt = async (gateway: Gateway, url: string, enrolment: { name: string; challenge: string }) => {
  const { device, connection, refused } = await started(gateway, () => makeDevices(url, enrolment))
  const measure = () => measureCalm(url, device, connection)
  return {
    alone: await started(gateway, async () => ({ calm: await measure() })),
    'beside what is no message': await started(gateway, () => beside(url, Buffer.from('no message'), measure)),
    'beside messages of who may not': await started(gateway, () => beside(url, refused, measure)),
  }
}

const measureAll = async () => {
  const stack = await startStack()
  try {
    const { client, ...policy } = await makePolicy(stack)
    const { baseUrl, tokenUrl } = stack
    const access = { baseUrl, tokenUrl, clientId: client.providerId, clientSecret: client.secret }
    const [one, other] = await makeEnrolments(stack, policy, 2)
    if (!one || !other) throw new Error('There are no devices.')
    const at = async (limit: string, enrolment: typeof one) => {
      const gateway = await gatewayProcess({ access, logFolder: 'data', settings: { SCEP_RATE_LIMIT: limit } })
      return measureAt(gateway, `${gateway.url}/scep/${policy.policyId}`, enrolment)
    }
    return { 'with limits': await at('1200', one), 'without limits of an address': await at('0', other) }
  } finally {
    await stack.stop()
  }
}

mkdirSync('data', { recursive: true })
say('Starting a stack of its own …')
const measured = await measureAll()
for (const [limits, floods] of Object.entries(measured))
  for (const [flood, row] of Object.entries(floods)) show(`A calm device ${flood}, ${limits} (milliseconds)`, row)
const kept = {
  date: new Date().toISOString(),
  command: `BENCH_LOOKUPS=${lookups} npm run bench:scep-flood`,
  connections,
  machine: machine(),
  measured,
}
mkdirSync('bench/results', { recursive: true })
writeFileSync('bench/results/scep-flood.json', `${JSON.stringify(kept, null, 2)}\n`)
say('Kept in bench/results/scep-flood.json')
