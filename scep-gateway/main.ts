// The SCEP gateway's process: wiring, and a life that ends cleanly.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { z } from 'zod'
import { createGateway } from './app.ts'
import { ScepGatewayConfig, settingsIn } from './config.ts'
import { createLog } from './log.ts'
import { makeGateway } from './make.ts'
import { makeSelfSigned } from './self-signed.ts'
import { httpServer, httpsServer, listening, metricsServer } from './server.ts'

const drainMs = 10_000
const file = process.env['SCEP_PROPERTIES'] ?? 'application.properties'
const properties = process.env['SCEP_PROPERTIES'] || existsSync(file) ? await readFile(file, 'utf8') : ''

const parsed = ScepGatewayConfig.safeParse(settingsIn(properties, process.env))
if (!parsed.success) {
  console.error(`The configuration of the SCEP gateway is wrong:\n${z.prettifyError(parsed.error)}`)
  process.exit(2)
}
const config = parsed.data
const log = createLog(config.LOG_LEVEL)

if (config.SCEP_STATIC_PASSWORD !== undefined)
  log.warn(
    'scep.static-password is set: no other method of authorisation is active, and whoever knows it gets certificates for any name that the policy allows',
  )

if (config.SCEP_INSECURE_ALGORITHMS)
  log.warn('scep.insecure-algorithms is set: messages by DES and MD5, which others may read or forge, are taken')

const { SERVER_SSL_CERTIFICATE, SERVER_SSL_PRIVATE_KEY } = config
const identity =
  SERVER_SSL_CERTIFICATE && SERVER_SSL_PRIVATE_KEY
    ? { cert: await readFile(SERVER_SSL_CERTIFICATE), key: await readFile(SERVER_SSL_PRIVATE_KEY) }
    : await makeSelfSigned(new Date())

const parts = makeGateway(config, log)
const answer = createGateway(parts).callback()
const listener = (...of: Parameters<typeof answer>): void => void answer(...of)

const servers: Server[] = []
const open = async (name: string, server: Server, [port, address]: readonly [number, string]): Promise<void> => {
  servers.push(server)
  log.info({ port: await listening(server, port, address), address }, `${name} listens`)
}

await open('HTTPS', httpsServer(identity, listener), [config.SERVER_PORT, config.SERVER_ADDRESS])
if (config.SERVER_HTTP_PORT !== undefined)
  await open('HTTP', httpServer(listener), [config.SERVER_HTTP_PORT, config.SERVER_ADDRESS])
if (config.SERVER_METRICS_PORT !== undefined)
  await open('metrics', metricsServer(parts.metrics), [config.SERVER_METRICS_PORT, '127.0.0.1'])

/** Takes no new requests and lets running ones end. */
const stop = (): void => {
  for (const server of servers) {
    server.close()
    server.closeIdleConnections()
  }
  setTimeout(() => servers.forEach(server => server.closeAllConnections()), drainMs).unref()
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
