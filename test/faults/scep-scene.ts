// Devices that enrol over SCEP with an installation whose parts die, and the gateway that they ask.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, connect as open, type Socket } from 'node:net'
import { freePort } from '../../embedded/processes/ports.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { certificatesIn, connect, csrOf, newDevice, pollContent } from '../support/scep-device.ts'
import { gatewayProcess } from '../support/scep-process.ts'
import { eventually, pause, type Installation } from './installation.ts'

/** A way to the identity provider that can be closed and opened again. */
const startRelay = async (target: URL) => {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    return socket
  }
  const server = createServer(socket => {
    const onward = keep(open(Number(target.port), target.hostname))
    keep(socket).pipe(onward).pipe(socket)
    socket.on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
  })
  const port = await freePort()
  const openAgain = async (): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const close = (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    return new Promise(resolve => void server.close(() => resolve()))
  }
  await openAgain()
  return { url: `http://127.0.0.1:${port}${target.pathname}`, close, openAgain }
}

/** A policy for SCEP with so many end entities, all of one password. */
const makeScepScene = async (installation: Installation, count: number, members: Partial<Policy>) => {
  const scene = await installation.makeScene(count, {
    scepConfiguration: { enabled: true, signerMode: 'RA', signerCertificateId: null },
    certificateProviderConfiguration: '{"templateSignerName":"DEVICE"}',
    allowedKeyPairModes: ['PKCS10'],
    ...members,
  })
  const { endEntityIds, policyId } = scene
  const { status, body } = await installation.call('POST', '/api/v1/end-entity-passwords', { endEntityIds, policyId })
  if (status !== 201) throw new Error(`The passwords could not be made: ${status} ${JSON.stringify(body)}`)
  return { ...scene, password: body.password as string }
}

/** The API client of a gateway, made as administrators make it. */
const makeClient = async ({ call, started }: Installation, realmId: string, policyId: string) => {
  const body = { name: `scep ${randomBytes(4).toString('hex')}`, realmIds: [realmId], defaultPolicyId: policyId }
  const made = await call('POST', '/api/v1/api-clients', body)
  if (made.status !== 201) throw new Error(`The API client could not be made: ${JSON.stringify(made)}`)
  const { baseUrl } = started.addresses
  return { baseUrl, clientId: made.body.providerId as string, clientSecret: made.body.secret as string }
}

type Connection = Awaited<ReturnType<typeof connect>>
type Draft = Parameters<Connection['write']>[0]

/** What a device has had to go through. */
export interface Hardships {
  broken: number
  pending: number
}

/** What a device wants, and how it asks for it when it was told to wait. */
interface Wish {
  readonly draft: Draft
  readonly poll: Draft
}

/** Sends until there is an answer that is not PENDING: the same octets while there is none at all, as devices do. */
const insist = async (connection: Connection, { draft, poll }: Wish, seen: Hardships): Promise<Buffer> => {
  let next = await connection.write(draft)
  const end = await eventually('a device has an answer', async () => {
    const reply = await connection.send(next).catch(() => null)
    if (reply === null) seen.broken += 1
    else if (reply.status !== 'PENDING') return reply
    else {
      seen.pending += 1
      next = await connection.write(poll)
    }
    await pause(300)
    return null
  })
  return certificatesIn(end)[0] as Buffer
}

/** Starts a gateway before an installation, with so many devices; `stop()` it before the installation. */
export const startScep = async (installation: Installation, count: number, members: Partial<Policy> = {}) => {
  const scene = await makeScepScene(installation, count, members)
  const relay = await startRelay(new URL(installation.started.addresses.tokenUrl))
  const access = { ...(await makeClient(installation, scene.realmId, scene.policyId)), tokenUrl: relay.url }
  const { logFile } = installation.running.api
  const process = await gatewayProcess({
    access,
    logFolder: logFile.slice(0, logFile.lastIndexOf('/')),
    settings: { SCEP_WAIT_SECONDS: '2', LOG_LEVEL: 'info' },
  })
  let part = await process.start()
  const url = `${process.url}/scep/${scene.policyId}`
  const rows = await installation.em().find(EndEntity, { id: { $in: scene.endEntityIds } })
  const devices = await Promise.all(
    rows.map(async ({ id, commonName }) => {
      const device = await newDevice(commonName ?? '')
      const content = await csrOf(device.name, device.keys, { challengePassword: `${id}:${scene.password}` })
      const connection = await connect(url, device)
      const transactionId = randomBytes(16).toString('hex')
      const draft: Draft = { messageType: 'PKCSReq', content, transactionId }
      const ca = connection.signers.at(1) as Buffer
      const poll: Draft = { messageType: 'CertPoll', transactionId, content: pollContent(ca, device.name) }
      const seen: Hardships = { broken: 0, pending: 0 }
      return { id, seen, enrol: () => insist(connection, { draft, poll }, seen) }
    }),
  )
  return {
    scene,
    devices,
    relay,
    gateway: () => part,
    startGateway: async (): Promise<void> => void (part = await process.start()),
    stop: async (): Promise<void> => {
      await part.stop()
      await relay.close()
    },
  }
}
export type Scep = Awaited<ReturnType<typeof startScep>>
