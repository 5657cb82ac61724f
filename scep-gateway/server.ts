// The listeners of the gateway: HTTPS, plain HTTP where it is wanted, and the metrics beside them.
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import type { BoundConnections } from './connections.ts'
import type { TlsIdentity } from './identity.ts'
import type { Metrics } from './metrics.ts'

/** What connections may do to a listener. */
export interface ListenerBounds {
  readonly bound: BoundConnections
  /** So long a TLS handshake may take, and a request until its last octet is there. */
  readonly requestMs: number
  /** So long a connection may move no octet while it is answered. */
  readonly idleMs: number
  readonly log: Logger
}

/** Longer than balancers keep idle connections, so that they close them and not we. */
const keepAliveTimeout = 65_000
const mostLookMs = 5000

/** GET messages are long; strongSwan sends no Host; who sends slowly is looked for more often than Node does. */
const optionsOf = ({ requestMs }: ListenerBounds) => ({
  maxHeaderSize: 65_536,
  requireHostHeader: false,
  keepAliveTimeout,
  headersTimeout: requestMs,
  requestTimeout: requestMs,
  connectionsCheckingInterval: Math.min(requestMs, mostLookMs),
})

const bind = <S extends Server>(server: S, { bound, idleMs }: ListenerBounds): S => {
  server.setTimeout(idleMs)
  bound(server)
  return server
}

/** Devices show their certificate in the message: who is asked for one at the connection gives up. */
const tlsOptions = { requestCert: false, minVersion: 'TLSv1.2' } as const

/** HTTPS for the devices. */
export const httpsServer = (identity: TlsIdentity, bounds: ListenerBounds, listener: RequestListener): Server => {
  const options = { ...optionsOf(bounds), ...tlsOptions, ...identity, handshakeTimeout: bounds.requestMs }
  const server = createHttpsServer(options, listener)
  server.on('tlsClientError', ({ message }: Error, { remoteAddress: ip }: TLSSocket) =>
    bounds.log.debug({ ip, reason: message }, 'no TLS'),
  )
  return bind(server, bounds)
}

/** Plain HTTP for devices that have nothing else. */
export const httpServer = (bounds: ListenerBounds, listener: RequestListener): Server =>
  bind(createHttpServer(optionsOf(bounds), listener), bounds)

/** `/metrics` for Prometheus. */
export const metricsServer = ({ register }: Metrics): Server =>
  createHttpServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end()
    register.metrics().then(
      text => response.writeHead(200, { 'Content-Type': register.contentType }).end(text),
      (error: unknown) => response.destroy(error as Error),
    )
    return undefined
  })

/** Listens, and answers the port. */
export const listening = async (server: Server, port: number, address: string): Promise<number> => {
  server.listen(port, address)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
