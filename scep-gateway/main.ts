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

const refuse = (error: unknown): never => {
  if (!(error instanceof Misconfigured)) throw error
  console.error(`The configuration of the SCEP gateway is wrong:\n${error.message}`)
  process.exit(2)
}

const { config, identity } = await settle().catch(refuse)
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
type Place = readonly [
  'server.port' | 'server.http.port' | 'server.metrics.port',
  'server.address' | 'server.metrics.address',
]
const open = async (name: string, server: Server, place: Place): Promise<void> => {
  const [port, address] = [config[place[0]] ?? 0, config[place[1]]]
  servers.push(server)
  const listens = listening(server, port, address).catch((error: Error) =>
    refuse(new Misconfigured([`${place[1]}, ${place[0]}: ${error.message}`])),
  )
  log.info({ port: await listens, address }, `${name} listens`)
}

const { subject, fingerprint256 } = new X509Certificate(identity.cert)
log.info({ subject, fingerprint256 }, 'the certificate of HTTPS')
await open('HTTPS', httpsServer(identity, bounds, listener), ['server.port', 'server.address'])
if (config['server.http.port'] !== undefined)
  await open('HTTP', httpServer(bounds, listener), ['server.http.port', 'server.address'])
if (config['server.metrics.port'] !== undefined)
  await open('metrics', metricsServer(parts.metrics), ['server.metrics.port', 'server.metrics.address'])

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
