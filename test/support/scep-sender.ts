// Messages from chosen loopback addresses, each over a connection of its own.
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What came back. */
export interface Answer {
  readonly status: number
  /** Seconds; 0 when nothing was said. */
  readonly retryAfter: number
  readonly body: Buffer
}

/** Sends a message by POST from an address. */
export const postFrom = async (localAddress: string, url: string, message: Buffer | string): Promise<Answer> => {
  const sent = httpRequest(`${url}?operation=PKIOperation`, { method: 'POST', localAddress, agent: false })
  sent.end(message)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const { statusCode: status = 0, headers } = answer
  return { status, retryAfter: Number(headers['retry-after'] ?? 0), body: await buffer(answer) }
}

/** A connection that sends these octets and no more; `isClosed` tells whether the other side has ended it. */
export interface Stuck {
  readonly socket: Socket
  readonly closed: Promise<void>
  isClosed: boolean
}

const atOnce = 100

/** Opens so many connections from 127.0.0.1 that send these octets and no more. */
export const openStuck = async (count: number, port: number, octets: string): Promise<Stuck[]> => {
  const all: Stuck[] = []
  while (all.length < count) {
    const sockets = Array.from({ length: Math.min(atOnce, count - all.length) }, () => connect(port, '127.0.0.1'))
    for (const socket of sockets) {
      const closed = new Promise<void>(resolve => void socket.once('close', () => resolve()))
      const stuck: Stuck = { socket, closed, isClosed: false }
      void closed.then(() => (stuck.isClosed = true))
      // What the other side says before it ends is not read by whoever is stuck, but must be taken.
      socket.on('error', () => undefined).resume()
      all.push(stuck)
    }
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    for (const socket of sockets) socket.write(octets)
  }
  return all
}
