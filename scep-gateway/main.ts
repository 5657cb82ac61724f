// The SCEP gateway's process: wiring, and a life that ends cleanly.
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { createGateway } from './app.ts'
import { Misconfigured, readConfig } from './config.ts'
import { identityOf } from './identity.ts'
import { createLog } from './log.ts'
import { makeGateway } from './make.ts'
import { httpServer, httpsServer, listening, metricsServer } from './server.ts'

/** So long after it was asked to end, a process lets devices wait for their certificates, and lets answers be sent. */
const patienceMs = 5000
const drainMs = 10_000
const closeIdleMs = 200

const properties = async (): Promise<string> => {
  const named = process.env['SCEP_PROPERTIES']
  const file = named || 'application.properties'
  if (!named && !existsSync(file)) return ''
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new Misconfigured([`SCEP_PROPERTIES: ${(error as Error).message}`])
  })
}

const settle = async () => {
  const config = readConfig(await properties(), process.env)
  return { config, identity: await identityOf(config, new Date()) }
}

const { config, identity } = await settle().catch((error: unknown) => {
  if (!(error instanceof Misconfigured)) throw error
  console.error(`The configuration of the SCEP gateway is wrong:\n${error.message}`)
  process.exit(2)
})
const log = createLog(config['log.level'])

if (config['scep.static-password'] !== undefined)
  log.warn(
    'scep.static-password is set: no other method of authorisation is active, and whoever knows it gets certificates for any name that the policy allows',
  )

if (config['scep.insecure-algorithms'])
  log.warn('scep.insecure-algorithms is set: messages by DES and MD5, which others may read or forge, are taken')

const ending = new AbortController()
const { bounds, ...parts } = makeGateway(config, log, ending.signal)
let stopping = false
const answer = createGateway({ ...parts, isStopping: () => stopping }).callback()
const listener = (...of: Parameters<typeof answer>): void => void answer(...of)

const servers: Server[] = []
const open = async (name: string, server: Server, [port, address]: readonly [number, string]): Promise<void> => {
  servers.push(server)
  log.info({ port: await listening(server, port, address), address }, `${name} listens`)
}

const { subject, fingerprint256 } = new X509Certificate(identity.cert)
log.info({ subject, fingerprint256 }, 'the certificate of HTTPS')
await open('HTTPS', httpsServer(identity, bounds, listener), [config['server.port'], config['server.address']])
if (config['server.http.port'] !== undefined)
  await open('HTTP', httpServer(bounds, listener), [config['server.http.port'], config['server.address']])
if (config['server.metrics.port'] !== undefined)
  await open('metrics', metricsServer(parts.metrics), [config['server.metrics.port'], config['server.metrics.address']])

/** Takes no new requests and lets running ones end. */
const stop = (): void => {
  stopping = true
  const closeIdle = (): void => servers.forEach(server => server.closeIdleConnections())
  for (const server of servers) server.close()
  closeIdle()
  setInterval(closeIdle, closeIdleMs).unref()
  setTimeout(() => ending.abort(), patienceMs).unref()
  setTimeout(() => servers.forEach(server => server.closeAllConnections()), drainMs).unref()
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)
