// The disk of PostgreSQL is full: clear answers, nothing half done, and all goes on once there is room.
import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { requestAll } from '../stories/scene.ts'
import { eventually, openInstallation, type Installation } from './installation.ts'
import { issued, mailed, ran, report } from './reckoning.ts'

const fault = 'disk of PostgreSQL full'
const size = 300
const diskMb = 400

let disk: string | undefined
let installation: Installation | undefined

/** A small disk of its own, where this machine lets us mount one. */
const mount = (): string | undefined => {
  const folder = mkdtempSync(join(tmpdir(), 'certwright-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'tmpfs', folder], { stdio: 'ignore' })
    chmodSync(folder, 0o755)
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return undefined
  }
}

beforeAll(async () => {
  disk = mount()
  if (disk !== undefined) installation = await openInstallation({ postgresFolder: join(disk, 'postgres') })
}, 120_000)
afterAll(async () => {
  await installation?.stop()
  if (disk === undefined) return
  execFileSync('umount', [disk])
  rmSync(disk, { recursive: true })
}, 60_000)

/** Writes blocks of so many octets until there is no room left. */
const fillBy = (file: string, octets: number): void => {
  const block = Buffer.alloc(octets, 1)
  const write = (): void => {
    for (let written = 0; written <= diskMb << 20; written += octets) appendFileSync(file, block)
  }
  expect(write).toThrow('ENOSPC')
}

const answered = async (one: Installation, policyId: string, endEntityIds: string[]) => {
  const keys = { keyPairMode: 'SERVER_GEN', keyGenParamsDto: { cryptoAlgorithm: 'EC' } }
  const body = { policyId, endEntityIds, validFor: 'SIX_MONTHS', ...keys }
  return one.call('POST', '/api/v1/cert-requests/multiple', body)
}

test('what cannot be written is refused whole, and what was begun goes on when there is room', async () => {
  if (disk === undefined || !installation) {
    process.stdout.write(`fault: ${fault}: not possible here, no disk can be mounted\n`)
    return
  }
  const { em, call, client, mail, running } = installation
  const scene = await installation.makeScene(size)
  const ids = await requestAll(installation, scene)
  const filler = join(disk, 'filler')
  for (const octets of [1 << 20, 1 << 12]) fillBy(filler, octets)
  const placed = await call('POST', '/api/v2/certificates/cert-requests?omitArtifacts=true', ids).catch(() => undefined)
  const refused = await eventually('a call is refused', async () => {
    const answer = await answered(installation as Installation, scene.policyId, scene.endEntityIds)
    return answer.status !== 201 && answer
  })
  process.stdout.write(`fault: ${fault}: the answer is ${refused.status} ${refused.body.apiError}\n`)
  expect([refused.status, refused.body.apiError]).toEqual([503, 'SERVICE_UNAVAILABLE'])
  expect(
    (await em()
      .count(CertRequest)
      .catch(() => size)) % size,
  ).toBe(0)

  rmSync(filler)
  if (running.postgres.ended()) await installation.startPostgres()
  await installation.ready()
  const open = await em().find(CertRequest, { certificateId: null, runId: null })
  const second = await call(
    'POST',
    '/api/v2/certificates/cert-requests?omitArtifacts=true',
    open.map(({ id }) => id),
  )
  expect([placed?.status, second.status]).toContain(201)
  const all = (await em().find(CertRequest, {})).map(({ id }) => id)
  await eventually('all is issued', async () => (await em().count(Certificate)) === all.length)
  await eventually('the orders end', async () => (await em().count(CertificateOrder, { status: 'RUNNING' })) === 0)
  await installation.untilMailed()
  const orders = (await em().find(CertificateOrder, {})).map(({ id }) => id)
  report({ fault, items: all.length, kills: 1 }, [
    ...(await issued(em(), all)),
    ...(await mailed(em(), mail)),
    ...(await ran(client, orders)),
  ])
}, 540_000)
