// `npm start` from an empty folder: everything listens on this machine alone, API and worker have a database role that owns
// nothing, and a second start finds what the first has made.
import { spawn, type ChildProcess } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Client } from 'pg'
import { EmbeddedConfig, plannedPorts, readConfig } from '../../embedded/config.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import type { Secrets } from '../../embedded/secrets.ts'
import { until } from '../support/issuing.ts'

const root = join(import.meta.dirname, '../..')
const startMs = 300_000

let folder: string
let ports: Record<string, string>
let running: ChildProcess

const start = async (): Promise<ChildProcess> => {
  const { TEMPORAL_ADDRESS: _, ...environment } = process.env
  const child = spawn(process.execPath, [join(root, 'embedded/main.ts')], {
    cwd: root,
    env: { ...environment, ...ports, DATA_FOLDER: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: string[] = []
  child.stderr.on('data', chunk => said.push(String(chunk)))
  const ready = Promise.withResolvers<void>()
  createInterface({ input: child.stdout }).on('line', line => {
    said.push(line)
    if (line === 'ready') ready.resolve()
  })
  child.once('exit', () => ready.reject(new Error(`It ended: ${said.slice(-20).join('\n')}`)))
  await ready.promise
  return child
}
const stop = async (child: ChildProcess): Promise<void> => {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'certwright-start-'))
  chmodSync(folder, 0o755)
  const names = Object.keys(EmbeddedConfig.shape).filter(name => name.endsWith('_PORT'))
  ports = {}
  for (const name of names) ports[name] = String(await freePort())
  running = await start()
}, startMs)
afterAll(async () => {
  if (running?.exitCode === null) await stop(running)
  rmSync(folder, { recursive: true, force: true })
}, startMs)

const secrets = () => JSON.parse(readFileSync(join(folder, 'secrets.json'), 'utf8')) as Secrets
const runFile = () =>
  JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8')) as {
    main: { pid: number }
    parts: { name: string; pid: number }[]
  }
const pids = (): number[] => {
  const { main, parts } = runFile()
  return [main, ...parts].map(({ pid }) => pid)
}

const socketsOf = (pid: number): Set<string> => {
  const names = readdirSync(`/proc/${pid}/fd`)
  const targets = names.map(name => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`)
    } catch {
      return '' // closed meanwhile
    }
  })
  return new Set(targets.flatMap(target => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []))
}

/** The listening sockets of a process: address in the kernel's hexadecimal, and port. */
const listenersOf = (pid: number): { address: string; port: number }[] => {
  const own = socketsOf(pid)
  const lines = ['tcp', 'tcp6'].flatMap(kind =>
    readFileSync(`/proc/${pid}/net/${kind}`, 'utf8').trim().split('\n').slice(1),
  )
  return lines.flatMap(line => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    const [address = '', port = ''] = local.split(':')
    return state === '0A' && own.has(inode) ? [{ address, port: Number.parseInt(port, 16) }] : []
  })
}

const loopback = ['0100007F', '00000000000000000000000001000000', '0000000000000000FFFF00000100007F']

test('every part listens on the loopback interface alone', () => {
  const listeners = pids().flatMap(listenersOf)
  const planned = plannedPorts(readConfig(ports)).map(({ port }) => port)
  expect(listeners.map(({ port }) => port)).toEqual(expect.arrayContaining(planned))
  expect(listeners.filter(({ address }) => !loopback.includes(address))).toEqual([])
})

const asService = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
  const password = encodeURIComponent(secrets().servicePassword)
  const connectionString = `postgresql://certwright_service:${password}@127.0.0.1:${ports['POSTGRES_PORT']}/certwright`
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

test('API and worker are connected as a role that may add audit events and neither change nor delete them', async () => {
  const { rows } = await asService(client =>
    client.query(
      `select distinct usename as role from pg_stat_activity where datname = 'certwright' and pid <> pg_backend_pid()`,
    ),
  )
  expect(rows).toEqual([{ role: 'certwright_service' }])
  for (const sql of ['delete from audit_event', 'update audit_event set principal_id = null', 'drop table audit_event'])
    await expect(asService(client => client.query(sql))).rejects.toMatchObject({ code: '42501' })
  const { rows: events } = await asService(client => client.query('select count(*)::int as count from audit_event'))
  expect(events[0].count).toBeGreaterThan(0)
  for (const process of ['api', 'worker'])
    expect(readFileSync(join(folder, `logs/${process}.log`), 'utf8')).not.toContain('may do too much')
})

test('metrics are read beside the API, not through it', async () => {
  const status = async (port: string) => (await fetch(`http://127.0.0.1:${ports[port]}/metrics`)).status
  expect(await status('API_PORT')).toBe(404)
  expect(await status('API_METRICS_PORT')).toBe(200)
})

/** The body of an answer of the gateway, which has made its certificate for itself. */
const fromGateway = (path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const url = `https://127.0.0.1:${ports['SCEP_PORT']}${path}`
    get(url, { rejectUnauthorized: false }, response => void text(response).then(resolve, reject)).on('error', reject)
  })

const devicePem = () => readFileSync(join(folder, 'device/device.pem'), 'utf8')
const certificates = async (): Promise<number> => {
  const { rows } = await asService(client => client.query('select count(*)::int as count from certificate'))
  return rows[0].count
}

test('a device has enrolled through the gateway, which answers by its default policy', async () => {
  const { subject } = new X509Certificate(devicePem())
  expect(subject).toBe('CN=device.demo.example')
  expect(await fromGateway('/scep?operation=GetCACaps')).toContain('SCEPStandard')
  const { rows } = await asService(client =>
    client.query(`select count(*)::int as count from cert_request where reference like 'scep-%'`),
  )
  expect(rows).toEqual([{ count: 1 }])
  expect(readFileSync(join(folder, 'demo.env'), 'utf8')).toMatch(/^CERTWRIGHT_SCEP_POLICY_ID=[0-9a-f-]{36}$/m)
})

const pidOf = (name: string): number | undefined => runFile().parts.find(part => part.name === name)?.pid
const isReady = async (): Promise<boolean> => {
  const { ok } = await fetch(`http://127.0.0.1:${ports['API_PORT']}/health/ready`)
  return ok && (await fromGateway('/health/ready')).includes('UP')
}

test.each(['PostgreSQL', 'Temporal', 'Worker', 'API', 'SCEP gateway'])(
  '%s comes back when it is killed, and the others have lived on',
  async name => {
    const before = new Map(runFile().parts.map(part => [part.name, part.pid]))
    process.kill(before.get(name) ?? 0, 'SIGKILL')
    await until(`${name} is back`, async () => pidOf(name) !== before.get(name))
    await until('all is ready', () => isReady().catch(() => false))
    expect(running.exitCode).toBe(null)
    for (const [other, pid] of before) if (other !== name) expect([other, pidOf(other)]).toEqual([other, pid])
  },
  startMs,
)

test(
  'a second start finds everything and changes nothing',
  async () => {
    const names = ['demo.json', 'demo.env', 'scep-client.json', 'device/device.pem', 'device/device.key']
    const contents = () => names.map(name => readFileSync(join(folder, name), 'utf8'))
    const before = { contents: contents(), certificates: await certificates() }
    await stop(running)
    running = await start()
    expect({ contents: contents(), certificates: await certificates() }).toEqual(before)
  },
  startMs,
)

test(
  'a folder that has lost the secret of the gateway and the key of the device gets new ones',
  async () => {
    const before = devicePem()
    await stop(running)
    for (const name of ['scep-client.json', 'device']) rmSync(join(folder, name), { recursive: true })
    running = await start()
    expect(devicePem()).not.toBe(before)
    expect(await fromGateway('/scep?operation=GetCACaps')).toContain('SCEPStandard')
  },
  startMs,
)
