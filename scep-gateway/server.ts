// The listeners of the gateway: HTTPS, plain HTTP where it is wanted, and the metrics on this machine alone.
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Metrics } from './metrics.ts'

/**
 * GET messages are long; strongSwan sends no Host; a device that sends slowly holds nothing but its connection. Devices show
 * their certificate in the message: who is asked for one at the connection gives up.
 */
const options = {
  maxHeaderSize: 65_536,
  requireHostHeader: false,
  keepAliveTimeout: 65_000,
  headersTimeout: 20_000,
  requestTimeout: 30_000,
}

/** PEM certificate (chain) and private key. */
export interface TlsIdentity {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

/** HTTPS for the devices. */
export const httpsServer = (identity: TlsIdentity, listener: RequestListener): Server =>
  createHttpsServer({ ...options, ...identity, requestCert: false }, listener)

/** Plain HTTP for devices that have nothing else. */
export const httpServer = (listener: RequestListener): Server => createHttpServer(options, listener)

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
