// A thread that makes and sends the calls of the watchdog, and meanwhile asks `/health/live` every few milliseconds: what it
// does, and the megabytes that it makes, take no time of the thread that is judged.
// Threads have no origin to name.
/* oxlint-disable unicorn/require-post-message-target-origin */
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { operations } from '../../api/app.ts'
import { callsTo, type Wire } from './watchdog.ts'

/** Which call to which operation to make, and with whose token. */
export interface Order {
  readonly operation: string
  /** Its place among the calls of the operation. */
  readonly index: number
  readonly url: string
  readonly token: string
}

/** What came of a call, and of asking for the health meanwhile. */
export interface Report {
  readonly status: number
  readonly body: string
  readonly milliseconds: number
  readonly asked: number
  readonly slowestHealth: number
}

const everyMs = 5
const agent = new Agent({ keepAlive: true })

interface Target {
  readonly url: string
  readonly token: string
}

const send = ({ url, token }: Target, { method, path, body }: Wire): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    const length =
      body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const headers = { Authorization: `Bearer ${token}`, ...length }
    const sent = request(`${url}${path}`, { method, headers, agent }, answer => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => void chunks.push(chunk))
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString().slice(0, 300) })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })

/** Asks for the health until told to stop: how often, and how long the slowest answer took. */
const watch = (url: string) => {
  const stop = new AbortController()
  let [asked, slowest] = [0, 0]
  const ask = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const start = performance.now()
      const { status } = await send({ url, token: '' }, { method: 'GET', path: '/health/live' })
      if (status !== 200) throw new Error(`/health/live answered ${status}.`)
      slowest = Math.max(slowest, performance.now() - start)
      asked += 1
      await pause(everyMs)
    }
  }
  const ended = ask()
  return async () => {
    stop.abort()
    await ended
    return { asked, slowestHealth: slowest }
  }
}

const carryOut = async (target: Target, call: Wire): Promise<Report> => {
  const stop = watch(target.url)
  const start = performance.now()
  const reply = await send(target, call)
  const milliseconds = performance.now() - start
  return { ...reply, milliseconds, ...(await stop()) }
}

const nothing = { milliseconds: 0, asked: 0, slowestHealth: 0 }

const wireOf = ({ operation, index }: Order): Wire => {
  const known = operations[operation]
  const call = known && callsTo(operation, known)[index]
  if (!call) throw new Error(`${operation} has no call ${index}.`)
  return call.make()
}

let begin: () => Promise<Report> = () => Promise.reject(new Error('Nothing is ordered.'))
/** First the order, whose call is made then, and after that the word to begin. */
parentPort?.on('message', (message: Order | 'begin') => {
  if (message !== 'begin') {
    const call = wireOf(message)
    begin = () => carryOut(message, call)
    return parentPort?.postMessage('ready')
  }
  return void begin().then(
    report => parentPort?.postMessage(report),
    (error: unknown) => parentPort?.postMessage({ status: 0, body: String(error), ...nothing }),
  )
})
