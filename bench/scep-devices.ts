// The devices of bench/scep.ts, a process of their own: `node bench/scep-devices.ts <plan.json>` prints what they measured.
// Keys and messages are made before the time runs, and replies are read after it.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { CmsError } from '../pki/cms/cms-error.ts'
import { readBag } from '../pki/cms/degenerate.ts'
import type { SentRequest } from '../pki/scep/client.ts'
import { writeScepRequest } from '../pki/scep/client.ts'
import { readCertRep } from '../pki/scep/reply.ts'
import { csrOf, newDevice, postMessage, usual, type Device } from '../test/support/scep-device.ts'
import { latencyOf } from './latency.ts'
import { cpuSeconds } from './machine.ts'

/** One load: how many devices at a time, and the name and challenge of each enrolment. */
export interface Load {
  readonly devices: number
  readonly enrolments: readonly { readonly name: string; readonly challenge: string }[]
}

/** What the devices do at which server. */
export interface Plan {
  readonly url: string
  readonly loads: readonly Load[]
  /** Whose CPU is looked at. */
  readonly parts: readonly { name: string; pid: number }[]
  readonly readings: number
}

const { url, loads, parts, readings } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Plan
const me = { name: 'devices', pid: process.pid }

const caCertificates = async (): Promise<readonly Buffer[]> => {
  const response = await fetch(`${url}?operation=GetCACert&message=ca`)
  const bytes = Buffer.from(await response.arrayBuffer())
  return response.headers.get('content-type') === 'application/x-x509-ca-cert' ? [bytes] : readBag(bytes).certificates
}

/** So many at a time, each after the other; milliseconds of each and seconds of all. */
const inLanes = async (lanes: number, works: readonly (() => Promise<void>)[]) => {
  const times: number[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    for (let work = works[next++]; work; work = works[next++]) {
      const begin = performance.now()
      await work()
      times.push(performance.now() - begin)
    }
  }
  const before = cpuSeconds([...parts, me])
  const begin = performance.now()
  await Promise.all(Array.from({ length: lanes }, lane))
  const seconds = (performance.now() - begin) / 1000
  const cpu = [...cpuSeconds([...parts, me])].map(([name, used]) => {
    return [name, Math.round((used - (before.get(name) ?? 0)) * 100) / 100] as const
  })
  return { times, seconds, cpu: Object.fromEntries(cpu) }
}

const signers = await caCertificates()
const most = Math.max(...loads.map(({ devices }) => devices))
const pool = await Promise.all(Array.from({ length: most }, async (_, index) => newDevice(`device ${index}`)))

const write = async ({ name, challenge }: Load['enrolments'][number], device: Device): Promise<SentRequest> =>
  writeScepRequest(
    {
      messageType: 'PKCSReq',
      transactionId: randomBytes(16).toString('hex'),
      content: await csrOf(name, device.keys, { challengePassword: challenge }),
      recipients: signers.slice(0, 1),
    },
    device,
    usual,
  )

/** SUCCESS; a reply in single DES, which our reader does not open, has shown its signature and nonce by then. */
const isSuccess = (bytes: Buffer, request: SentRequest, client: Device): boolean => {
  try {
    return readCertRep(bytes, { request, client, signers }).status === 'SUCCESS'
  } catch (error) {
    if (error instanceof CmsError && error.message.includes('DES-CBC')) return true
    throw error
  }
}

const measure = async ({ devices, enrolments }: Load) => {
  const sent = await Promise.all(
    enrolments.map(async (enrolment, index) => {
      const device = pool[index % most] as Device
      return { device, request: await write(enrolment, device) }
    }),
  )
  const replies: Buffer[] = []
  const works = sent.map(({ request }, index) => async () => {
    const response = await postMessage(url, request.der)
    replies[index] = Buffer.from(await response.arrayBuffer())
    if (!response.ok) throw new Error(`PKIOperation: ${response.status} ${replies[index].toString()}`)
  })
  const { times, seconds, cpu } = await inLanes(devices, works)
  const successes = sent.filter(({ device, request }, index) =>
    isSuccess(replies[index] ?? Buffer.alloc(0), request, device),
  )
  return { ...latencyOf(times, { clients: devices, seconds }), successes: successes.length, cpu }
}

const read = async (operation: string) => {
  const works = Array.from({ length: readings }, () => async () => {
    await (await fetch(`${url}?operation=${operation}`)).arrayBuffer()
  })
  const { times, seconds } = await inLanes(8, works)
  return latencyOf(times, { clients: 8, seconds })
}

const results = []
for (const load of loads) results.push(await measure(load))
const told = { enrolments: results, GetCACaps: await read('GetCACaps'), GetCACert: await read('GetCACert') }
process.stdout.write(`${JSON.stringify(told)}\n`)
