// How many connections the listeners hold together, and for each address (of IPv6: each /64).
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { networkOf } from '../domain/network.ts'
import type { Metrics } from './metrics.ts'

/** The most at a time; 0: as many as come. */
export interface ConnectionBounds {
  readonly all: number
  readonly each: number
}

/** Holds the connections of listeners to bounds. */
export type BoundConnections = (server: Server) => void

/** A flood is one line of the log in this time. */
const quietMs = 60_000

const most = (bound: number): number => (bound === 0 ? Infinity : bound)

/** Closes, as they come, the connections that are too many. */
export const boundConnections = (bounds: ConnectionBounds, metrics: Metrics, log: Logger): BoundConnections => {
  const held = new Map<string, number>()
  let all = 0
  let quietUntil = 0

  const refuse = (socket: Socket, network: string, bound: keyof ConnectionBounds): void => {
    socket.destroy()
    metrics.refusedConnections.inc({ bound })
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + quietMs
    log.warn({ network, bound, held: all }, 'connections are refused')
  }

  const hold = (network: string, change: 1 | -1): void => {
    all += change
    metrics.connections.set(all)
    const count = (held.get(network) ?? 0) + change
    if (count > 0) held.set(network, count)
    else held.delete(network)
  }

  const admit = (socket: Socket): void => {
    const network = networkOf(socket.remoteAddress ?? '')
    if ((held.get(network) ?? 0) >= most(bounds.each)) return refuse(socket, network, 'each')
    if (all >= most(bounds.all)) return refuse(socket, network, 'all')
    hold(network, 1)
    socket.once('close', () => hold(network, -1))
    return undefined
  }
  return server => void server.on('connection', admit)
}
