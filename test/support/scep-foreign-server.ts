// micromdm's scepserver (Debian package `scep`) as a server that is not ours. It listens on all addresses, so that it gets a
// network of its own, from which a loopback port leads here.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { decodePem } from '../../pki/pem.ts'

/** What it asks everybody for, renewals as well. */
export const foreignChallenge = 'a challenge of micromdm'

const port = '8080'

// As root a network is enough; others need to be root of a user namespace, which some machines allow to root alone.
const networks = [['--user', '--map-root-user', '--net'], ['--net']] as const

const ownNetwork = (): readonly string[] => {
  const works = networks.find(
    options => spawnSync('unshare', [...options, 'ip', 'link', 'set', 'lo', 'up']).status === 0,
  )
  if (works) return works
  throw new Error('unshare makes no network here, and scepserver would listen on all addresses: not run.')
}

/** A loopback port that leads to a Unix socket. */
const bridgeTo = async (socket: string) => {
  const open = new Set<Socket>()
  const server = createServer(near => {
    const far = connect(socket)
    open.add(near)
    near.on('close', () => open.delete(near))
    near.on('error', () => far.destroy())
    far.on('error', () => near.destroy())
    near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = (): void => {
    server.close()
    for (const connection of open) connection.destroy()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/scep`, stop }
}

const isThere = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}?operation=GetCACaps`)).ok
  } catch {
    return false
  }
}

const untilThere = async (url: string, child: ChildProcess, log: () => Promise<string>): Promise<void> => {
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) break
    if (await isThere(url)) return
    await wait(100)
  }
  throw new Error(`scepserver does not answer: ${await log()}`)
}

/** Starts it with a CA of its own (RSA-2048); `stop()` it after the tests. */
export const startForeignServer = async () => {
  const depot = await mkdtemp(join(tmpdir(), 'certwright-scepserver-'))
  const made = spawnSync('scepserver', ['ca', '-init', '-keySize', '2048', '-depot', depot])
  if (made.status !== 0) throw new Error(`scepserver made no CA: ${String(made.stderr)}`)
  const [socket, logFile] = [join(depot, 'socket'), join(depot, 'log')]
  const command = ['scepserver', '-depot', depot, '-port', port, '-challenge', foreignChallenge, '-allowrenew', '0']
  const helper = [process.execPath, join(import.meta.dirname, 'own-network.mjs'), socket, port, ...command, '-debug']
  const output = openSync(logFile, 'a')
  const child = spawn('unshare', [...ownNetwork(), ...helper], { stdio: ['pipe', output, output] })
  closeSync(output)
  const logged = (): Promise<string> => readFile(logFile, 'utf8')
  const { url, stop: closeBridge } = await bridgeTo(socket)
  const stop = async (): Promise<void> => {
    closeBridge()
    const ended = child.exitCode === null ? once(child, 'exit') : undefined
    child.stdin?.end()
    await ended
    await rm(depot, { recursive: true })
  }
  try {
    await untilThere(url, child, logged)
  } catch (error) {
    await stop()
    throw error
  }
  const [ca] = decodePem(await readFile(join(depot, 'ca.pem'), 'utf8'))
  return { url, logged, stop, ca: Buffer.from(ca?.der ?? []), caFile: join(depot, 'ca.pem') }
}
export type ForeignServer = Awaited<ReturnType<typeof startForeignServer>>
