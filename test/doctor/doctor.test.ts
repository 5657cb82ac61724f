// The doctor on a whole installation of real processes: well, and with one part broken at a time.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Client, Connection } from '@temporalio/client'
import { apiEnvironment, demoPrincipals, workerEnvironment } from '../../embedded/environment.ts'
import { startScepGateway } from '../../embedded/processes/application.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { Ca } from '../../storage/rows/ca.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { parseKeys } from '../../storage/seal.ts'
import { createDataConverter } from '../../worker/payload-codec.ts'
import { installSchedules, recurring } from '../../worker/schedules.ts'
import { registerSearchAttributes } from '../../worker/search-attributes.ts'
import { until } from '../support/issuing.ts'
import { startMailServer } from '../support/mail-server.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { createClient } from '../support/stack.ts'

interface Told {
  readonly check: string
  readonly verdict: string
  readonly text: string
  readonly advice?: string
}
interface Diagnosis {
  readonly code: number
  readonly output: string
  readonly checks: readonly Told[]
}

let service: Processes
let connection: Connection
let client: Client
let environment: Record<string, string>

/** Runs the doctor with these variables beside or in place of those of the processes. */
const doctor = (changes: Record<string, string> = {}, ...options: string[]): Promise<Diagnosis> =>
  new Promise(resolve => {
    const program = join(import.meta.dirname, '../../doctor/main.ts')
    const env = { PATH: process.env['PATH'], ...environment, ...changes }
    execFile(process.execPath, [program, ...options], { env }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`
      const checks = options.includes('--json') ? (JSON.parse(stdout) as { checks: Told[] }).checks : []
      resolve({ code: error ? Number(error.code) : 0, output, checks })
    })
  })

const diagnose = (changes?: Record<string, string>): Promise<Diagnosis> => doctor(changes, '--json')
const byVerdict = ({ checks }: Diagnosis, ...verdicts: string[]): string[] =>
  checks.filter(({ verdict }) => verdicts.includes(verdict)).map(({ check }) => check)
const of = ({ checks }: Diagnosis, name: string): Told | undefined => checks.find(({ check }) => check === name)

beforeAll(async () => {
  service = await startProcesses()
  environment = { ...apiEnvironment(service.started), ...workerEnvironment(service.started) }
  connection = await Connection.connect({ address: service.started.addresses.temporal })
  const dataConverter = createDataConverter(parseKeys(service.started.secrets.payloadKeys))
  client = new Client({ connection, namespace: 'certwright', dataConverter })
  const em = service.orm.em.fork()
  await until('the CA is made', () => em.fork().findOne(CertificateProvider, { issuingCaId: { $ne: null } }))
  await until('a run is listed', async () => (await client.workflow.count()).count > 0)
}, 180_000)
afterAll(async () => {
  await connection.close()
  await service.stop()
}, 60_000)

/** Everything was as before. */
const expectWell = async (): Promise<void> => expect(byVerdict(await diagnose(), 'FAILED', 'WARNING')).toEqual([])

test('all is well', async () => {
  const diagnosis = await diagnose()
  expect(diagnosis.checks.filter(({ verdict }) => verdict !== 'OK' && verdict !== 'SKIPPED')).toEqual([])
  expect(byVerdict(diagnosis, 'SKIPPED')).toEqual(['SCEP gateway', 'mail server', 'master keys'])
  expect(diagnosis.code).toBe(0)
  expect(diagnosis.checks.map(({ check }) => check)).toEqual([
    'database',
    'migrations',
    'database role',
    'temporal',
    'namespace',
    'search attributes',
    'worker',
    ...recurring.map(({ run }) => `schedule ${run.id}`),
    'identity provider',
    'identity provider, clients',
    'SCEP gateway',
    'mail server',
    'providers',
    'CA lifetimes',
    'CRLs',
    'master keys',
    'CA keys',
    'payload keys',
    'clock of database',
    'clock of Temporal',
  ])
})

test('people get a line a check, and no secret', async () => {
  const { code, output } = await doctor({ DATABASE_URL: `${environment['DATABASE_URL']}x` })
  expect(code).toBe(1)
  expect(output).toMatch(/^FAILED {3}database /m)
  expect(output).toMatch(/-> Is PostgreSQL running/)
  expect(output).toMatch(/^ok {7}temporal {13}Temporal \S+ answers$/m)
  expect(output).toMatch(/^\d+ failed, 0 warnings, \d+ ok$/m)
  const { password } = new URL(environment['DATABASE_URL'] ?? '')
  for (const secret of [password, environment['MASTER_KEYS']?.slice(3), environment['PAYLOAD_KEYS']?.slice(3)])
    expect(output).not.toContain(secret)
})

test('an environment that lacks something is told as such', async () => {
  const diagnosis = await diagnose({ MASTER_KEYS: 'nonsense' })
  expect(diagnosis.code).toBe(1)
  expect(diagnosis.checks).toMatchObject([{ check: 'configuration', verdict: 'FAILED' }])
  expect(diagnosis.output).toContain('MASTER_KEYS')
})

const ofDatabase = [
  'migrations',
  'database role',
  'mail server',
  'providers',
  'CA lifetimes',
  'CRLs',
  'master keys',
  'CA keys',
]
const ofNamespace = ['search attributes', 'worker', ...recurring.map(({ run }) => `schedule ${run.id}`), 'payload keys']
const otherKey = `other:${Buffer.alloc(32, 1).toString('base64')}`

test.each<[string, () => Promise<Record<string, string>>, string[], string[]]>([
  [
    'the database cannot be reached',
    async () => ({ DATABASE_URL: `postgresql://nobody:secret-of-nobody@127.0.0.1:${await freePort()}/c` }),
    ['database'],
    [...ofDatabase, 'clock of database'],
  ],
  [
    'Temporal cannot be reached',
    async () => ({ TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }),
    ['temporal'],
    ['namespace', ...ofNamespace, 'clock of Temporal'],
  ],
  [
    'the namespace is not there',
    async () => ({ TEMPORAL_NAMESPACE: 'nowhere' }),
    ['namespace'],
    [...ofNamespace, 'clock of Temporal'],
  ],
  [
    'no worker listens on the task queue, where the schedules do not start runs either',
    async () => ({ TEMPORAL_TASK_QUEUE: 'nobody' }),
    ['worker', ...recurring.map(({ run }) => `schedule ${run.id}`)],
    ['payload keys', 'clock of Temporal'],
  ],
  [
    'the identity provider cannot be reached',
    async () => ({ OIDC_ISSUER: `http://127.0.0.1:${await freePort()}/auth` }),
    ['identity provider'],
    [],
  ],
  [
    'the identity provider signs with something else',
    async () => ({ OIDC_ALGORITHMS: 'EdDSA' }),
    ['identity provider'],
    [],
  ],
  ['the payload keys are others', async () => ({ PAYLOAD_KEYS: otherKey }), ['payload keys'], []],
  ['the CA keys are others', async () => ({ CA_MASTER_KEYS: otherKey }), ['CA keys'], []],
])('%s', async (...[, changes, wrong, unseen]) => {
  const diagnosis = await diagnose(await changes())
  expect(byVerdict(diagnosis, 'FAILED')).toEqual(wrong)
  expect(byVerdict(diagnosis, 'SKIPPED')).toEqual(expect.arrayContaining(unseen))
  for (const name of wrong) expect(of(diagnosis, name)?.advice).toMatch(/\w+/)
  expect(diagnosis.code).toBe(1)
})

test('the environment of an API that may not open the keys of CAs is a warning', async () => {
  const diagnosis = await diagnose({ MASTER_KEYS: otherKey })
  expect(byVerdict(diagnosis, 'WARNING', 'FAILED')).toEqual(['CA keys'])
  expect([of(diagnosis, 'CA keys')?.verdict, diagnosis.code]).toEqual(['WARNING', 0])
})

test('the worker is told when it may not write clients', async () => {
  const of = async (more: Record<string, string>) =>
    (await diagnose(more)).checks.find(({ check }) => check === 'identity provider, clients')
  expect(await of({})).toMatchObject({ verdict: 'OK' })
  const refused = await of({ DIRECTORY_CLIENT_SECRET: 'a-secret-that-is-wrong' })
  expect(refused).toMatchObject({ verdict: 'FAILED', text: expect.stringMatching(/login .* is refused \(40[01]\)/) })
  expect(JSON.stringify(refused)).not.toContain('a-secret-that-is-wrong')
  const { clientId, secret } = await createClient()
  const powerless = { DIRECTORY_CLIENT_ID: clientId, DIRECTORY_CLIENT_SECRET: secret }
  expect(await of(powerless)).toMatchObject({ verdict: 'FAILED', advice: expect.stringContaining('manage-clients') })
  expect(await of({ DIRECTORY_URL: '' })).toMatchObject({ verdict: 'SKIPPED' })
})

test('without OIDC_ISSUER the identity provider is not looked at', async () => {
  const { OIDC_ISSUER: _, ...rest } = environment
  const whole = environment
  environment = rest
  expect(of(await diagnose(), 'identity provider')?.verdict).toBe('SKIPPED')
  environment = whole
})

/** What is done while the worker stands still: awake, it makes a schedule again within a minute of its loss. */
const asleep = async <T>(work: () => Promise<T>): Promise<T> => {
  const { pid } = service.running.worker
  process.kill(pid, 'SIGSTOP')
  try {
    return await work()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}

test('a schedule that is missing or paused is told', async () => {
  const broken = await asleep(async () => {
    await client.schedule.getHandle('expiry').delete()
    await client.schedule.getHandle('reconcile').pause()
    return diagnose()
  })
  expect([byVerdict(broken, 'FAILED'), byVerdict(broken, 'WARNING')]).toEqual([
    ['schedule expiry'],
    ['schedule reconcile'],
  ])
  await installSchedules(client, 'certwright')
  await client.schedule.getHandle('reconcile').unpause()
  await expectWell()
})

test('a search attribute that is missing is told by its name', async () => {
  const remove = { namespace: 'certwright', searchAttributes: ['CertKind'] }
  await connection.operatorService.removeSearchAttributes(remove)
  const look = async () => {
    const diagnosis = await diagnose()
    return byVerdict(diagnosis, 'FAILED').includes('search attributes') && diagnosis
  }
  const broken = await until('the search attribute is gone', look)
  expect(of(broken, 'search attributes')?.text).toBe('missing: CertKind')
  await registerSearchAttributes(client, 'certwright')
  await until('the search attribute is back', async () => of(await diagnose(), 'search attributes')?.verdict === 'OK')
})

test('a migration that the database has not seen is told', async () => {
  const em = service.orm.em.fork()
  const [last] = await em.execute<{ id: number; name: string }[]>(
    'delete from mikro_orm_migrations where id = (select max(id) from mikro_orm_migrations) returning id, name',
  )
  const broken = await diagnose()
  await em.execute('insert into mikro_orm_migrations (id, name) values (?, ?)', [last?.id, last?.name])
  expect(byVerdict(broken, 'FAILED')).toEqual(['migrations'])
  expect(of(broken, 'migrations')?.text).toContain(last?.name)
  await expectWell()
})

test('a role that may do too much is a warning', async () => {
  const diagnosis = await diagnose({ DATABASE_URL: service.started.migrationUrl })
  expect([byVerdict(diagnosis, 'FAILED', 'WARNING'), diagnosis.code]).toEqual([['database role'], 0])
})

test.each([
  ['WARNING', 89],
  ['WARNING', 300],
  ['FAILED', -1],
])('a CA: %s when it ends in %i days', async (verdict, days) => {
  const em = service.orm.em.fork()
  const { issuingCaId: id } = await em.findOneOrFail(CertificateProvider, { issuingCaId: { $ne: null } })
  const { validNotAfter } = await em.findOneOrFail(Ca, id ?? '')
  await em.nativeUpdate(Ca, { id: id ?? '' }, { validNotAfter: new Date(Date.now() + days * 86_400_000) })
  const diagnosis = await diagnose()
  await em.nativeUpdate(Ca, { id: id ?? '' }, { validNotAfter })
  expect(of(diagnosis, 'CA lifetimes')?.verdict).toBe(verdict)
})

test('a CA that another took over from ends in peace', async () => {
  const em = service.orm.em.fork()
  const { issuingCaId } = await em.findOneOrFail(CertificateProvider, { issuingCaId: { $ne: null } })
  const [row] = await em.execute<{ id: string }[]>(
    `insert into ca select (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(), 'fingerprint', repeat('0', 64),
       'private_key_id', null, 'valid_not_after', now() - interval '1 day', 'succeeded_date', now()))).* from ca c
      where id = ? returning id`,
    [issuingCaId ?? ''],
  )
  const diagnosis = await diagnose()
  await em.nativeDelete(Ca, { id: row?.id ?? '' })
  expect(of(diagnosis, 'CA lifetimes')?.verdict).toBe('OK')
})

const mail = async (values: Record<string, string>): Promise<Told | undefined> => {
  const em = service.orm.em.fork()
  for (const [settingsKey, value] of Object.entries(values)) em.create(Setting, { settingsKey, value })
  await em.flush()
  const told = of(await diagnose(), 'mail server')
  await em.nativeDelete(Setting, { settingsKey: { $like: 'mail.%' } })
  return told
}

test('the mail server is greeted where mail is on', async () => {
  const server = await startMailServer()
  const on = { 'mail.enabled': 'true', 'mail.host': '127.0.0.1' }
  const there = { ...on, 'mail.port': String(server.port) }
  try {
    expect(await mail(there)).toMatchObject({ verdict: 'OK' })
    expect(server.connections()).toBeGreaterThan(0)
    // The server has no TLS: what the settings ask for is missing there.
    expect(await mail({ ...there, 'mail.starttls': 'true' })).toMatchObject({ verdict: 'FAILED' })
    expect(server.mails).toEqual([])
  } finally {
    await server.stop()
  }
  expect(await mail({ ...on, 'mail.port': String(await freePort()) })).toMatchObject({ verdict: 'FAILED' })
  expect(await mail({ 'mail.enabled': 'true' })).toMatchObject({ verdict: 'FAILED' })
})

test('a gateway is well, is no client of the API, or is not there', async () => {
  const logFolder = mkdtempSync(join(tmpdir(), 'certwright-doctor-'))
  const SCEP_GATEWAY_URL = `https://127.0.0.1:${service.started.config.SCEP_PORT}`
  const lookAt = async (clientSecret: string): Promise<Told | undefined> => {
    const client = { clientId: demoPrincipals.adminClientId, clientSecret }
    const gateway = startScepGateway({ logFolder }, service.started, client)
    const isUp = () => fetch(SCEP_GATEWAY_URL).catch(error => error.cause?.code !== 'ECONNREFUSED')
    try {
      await until('the gateway listens', isUp)
      return of(await diagnose({ SCEP_GATEWAY_URL }), 'SCEP gateway')
    } finally {
      await gateway.stop()
    }
  }
  expect(await lookAt(service.started.secrets.adminClientSecret)).toMatchObject({ verdict: 'OK' })
  expect(await lookAt('wrong')).toMatchObject({ verdict: 'FAILED', advice: expect.stringContaining('scep.service') })
  expect(of(await diagnose({ SCEP_GATEWAY_URL }), 'SCEP gateway')).toMatchObject({ verdict: 'FAILED' })
  rmSync(logFolder, { recursive: true })
}, 120_000)
