// The flood of bench/scep-flood.ts, a process of its own: `node bench/scep-flooder.ts <plan.json>` sends one message from
// 127.0.0.1 again and again until it is told to end, and prints what it was answered.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'

/** Where a flood goes, over how many connections, and what it sends, Base64. */
export interface FloodPlan {
  readonly url: string
  readonly connections: number
  readonly message: string
}

/** What a flood was answered. */
export interface Flooded {
  readonly seconds: number
  readonly perSecond: number
  /** How many by status; 0 for a connection that broke. */
  readonly statuses: Readonly<Record<string, number>>
}

const { url, connections, message } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as FloodPlan
const octets = Buffer.from(message, 'base64')
const agent = new Agent({ keepAlive: true, maxSockets: connections })
const statuses: Record<string, number> = {}
const ending = new AbortController()

const post = async (): Promise<number> => {
  const sent = httpRequest(`${url}?operation=PKIOperation`, { method: 'POST', agent, localAddress: '127.0.0.1' })
  sent.end(octets)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  await once(answer.resume(), 'end')
  return answer.statusCode ?? 0
}

const lane = async (): Promise<void> => {
  while (!ending.signal.aborted) {
    const status = await post().catch(() => 0)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
}

process.once('SIGTERM', () => ending.abort())
const begin = performance.now()
await Promise.all(Array.from({ length: connections }, lane))
const seconds = (performance.now() - begin) / 1000
agent.destroy()
const all = Object.values(statuses).reduce((sum, count) => sum + count, 0)
const told: Flooded = { seconds: Math.round(seconds * 10) / 10, perSecond: Math.round(all / seconds), statuses }
process.stdout.write(`${JSON.stringify(told)}\n`)
