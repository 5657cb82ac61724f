// Large revocations: one in the middle of which the worker is killed, and one of as many certificates as a call may name.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { residentOf } from '../../bench/heap.ts'
import { insertRows } from '../../storage/insert-rows.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Revocation, RevocationItem } from '../../storage/rows/revocation.ts'
import { Workbench } from '../pki/openssl.ts'
import { readCrl } from '../support/revoking.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { makeScene, type Scene } from './scene.ts'

const size = 3000
/** As many as a call may name. */
const most = 10_000
/** The worker has 250 certificates at a time in hand, the list of the CA whole. */
const mostMoreMiB = 400
const patienceMs = 300_000

const bench = new Workbench()
let service: Processes

beforeAll(async () => {
  service = await startProcesses()
}, 120_000)
afterAll(async () => {
  await service.stop()
  await bench.clear()
}, 60_000)

const issuingCaId = async (): Promise<string> => {
  const provider = await service.orm.em.fork().findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  return provider.issuingCaId ?? ''
}

/** Certificates of the built-in CA as the records know them; nobody looks at their octets here. */
const makeCertificates = async (
  { realmId, policyId, endEntityIds }: Scene,
  issuerCaId: string,
  count: number,
): Promise<string[]> => {
  const now = new Date()
  const stamp = {
    createdByType: 'SYSTEM',
    createdDate: now,
    lastModifiedByType: 'SYSTEM',
    lastModifiedDate: now,
    version: 1,
  }
  const common = { ...stamp, realmId, policyId, endEntityId: endEntityIds[0], keyPairMode: 'SERVER_GEN' }
  const made = Array.from({ length: count }, () => ({ id: randomUUID(), certRequestId: randomUUID() }))
  const em = service.orm.em.fork()
  const decided = { requiresManualApproval: false, dualControl: false, requesterMayApprove: true, userResponses: [] }
  await insertRows(
    em,
    CertRequest,
    made.map(({ id, certRequestId }) => ({
      ...common,
      ...decided,
      id: certRequestId,
      certificateId: id,
      certRequestStatus: 'ISSUED',
    })),
  )
  const lists = {
    subjectAlternativeNames: [],
    keyUsages: [],
    extendedKeyUsages: [],
    crlDistributionPoints: [],
    ocspUrls: [],
  }
  await insertRows(
    em,
    Certificate,
    made.map(ids => ({
      ...common,
      ...lists,
      ...ids,
      issuerCaId,
      der: randomBytes(8),
      serialNumber: `1${randomBytes(8).toString('hex')}`,
      fingerprint: randomBytes(32).toString('hex'),
      publicKeyHash: randomBytes(32).toString('hex'),
      subjectDn: 'CN=device',
      issuerDn: 'CN=Built-in CA Issuing CA',
      validNotBefore: now,
      validNotAfter: new Date(now.getTime() + 86_400_000),
      certPublicKeyAlgorithm: 'EC',
      signatureAlgorithm: 'SHA256_WITH_ECDSA',
    })),
  )
  return made.map(({ id }) => id)
}

const counted = (): Promise<number> => service.orm.em.fork().count(Certificate, { revocationDate: { $ne: null } })

/** Looks often, with a bound that only a standstill reaches. */
const untilTrue = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what} never came true, ${await counted()} are revoked.`)
    await new Promise(resolve => void setTimeout(resolve, 10))
  }
}

test(
  'a worker that is killed in the middle of 3,000 revocations records each exactly once after its restart',
  async () => {
    const scene = await makeScene(service, 1)
    const caId = await issuingCaId()
    const ids = await makeCertificates(scene, caId, size)
    const body = { certificateIds: ids, revocationReason: 'CESSATION_OF_OPERATION' }
    const asked = service.call('POST', '/api/v1/certificates/batch-revoke', body)
    await untilTrue('the first revocations', async () => (await counted()) > 0)
    const { worker } = service.running
    await worker.kill()
    expect(await worker.exited).toContain('SIGKILL')
    const atTheKill = await counted()
    expect(atTheKill).toBeGreaterThan(0)
    expect(atTheKill).toBeLessThan(size)
    await service.startWorker()
    await untilTrue('all revocations', async () => (await counted()) >= size)
    const { status } = await asked
    expect(status).toBe(200)

    const em = service.orm.em.fork()
    await untilTrue('its end', async () => (await em.fork().count(Revocation, { closedDate: { $ne: null } })) === 1)
    expect(await em.count(RevocationItem, { status: 'COMPLETED' })).toBe(size)
    const events = await em.find(AuditEvent, { eventType: 'CERTIFICATE_REVOKED' })
    expect(new Set(events.map(({ objectId }) => objectId))).toEqual(new Set(ids))
    expect(events).toHaveLength(size)
    expect(await em.count(Certificate, { revocationRunId: { $ne: null } })).toBe(0)
    expect(await em.count(Certificate, { version: { $ne: 2 } })).toBe(0)
    await untilTrue('the list', async () => (await em.fork().count(Certificate, { crlPending: true })) === 0)
    const response = await fetch(`${service.started.addresses.baseUrl}/pki/crl/${caId}.crl`)
    const { entries } = await readCrl(bench, Buffer.from(await response.arrayBuffer()))
    expect(entries.size).toBe(size)
  },
  2 * patienceMs,
)

/** Asks the API for its health and for a certificate until told to stop; answers the statuses, and the most that a process had. */
const watch = (certificateId: string, pid: number) => {
  const stop = new AbortController()
  const statuses: number[] = []
  let resident = residentOf(pid)
  const begun = resident
  const ask = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      statuses.push((await fetch(`${service.started.addresses.baseUrl}/health/live`)).status)
      statuses.push((await service.call('GET', `/api/v1/certificates/${certificateId}`)).status)
      resident = Math.max(resident, residentOf(pid))
      await new Promise(resolve => void setTimeout(resolve, 100))
    }
  }
  const ended = ask()
  return async () => {
    stop.abort()
    await ended
    return { statuses, moreMiB: Math.round((resident - begun) / 2 ** 20) }
  }
}

test(
  '10,000 revocations in one call are each recorded and listed once, while the API answers others',
  async () => {
    const scene = await makeScene(service, 1)
    const caId = await issuingCaId()
    const listedBefore = await counted()
    const ids = await makeCertificates(scene, caId, most)
    const stop = watch(ids[0] ?? '', service.running.worker.pid)
    const began = performance.now()
    const { status, body } = await service.call('POST', '/api/v1/certificates/batch-revoke', {
      certificateIds: ids,
      revocationReason: 'CESSATION_OF_OPERATION',
    })
    const seconds = (performance.now() - began) / 1000
    // On a slow machine the call is over before the revocation is, and says so of each that is left.
    const late = body.errors.filter(({ apiError }: { apiError: string }) => apiError === 'REVOCATION_PENDING').length
    expect([status, body.revokedCertificates.length + late]).toEqual([200, most])
    const mine = { id: { $in: ids } }
    const em = service.orm.em.fork()
    await untilTrue(
      'all are listed',
      async () => (await em.count(Certificate, { ...mine, revocationCrlNumber: null })) === 0,
    )
    const { statuses, moreMiB } = await stop()
    process.stdout.write(
      `10,000 revocations: ${seconds.toFixed(0)} s, ${late} late, ${statuses.length} answers meanwhile, ${moreMiB} MiB more\n`,
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(statuses.length).toBeGreaterThan(10)
    expect(moreMiB).toBeLessThan(mostMoreMiB)

    const events = await em.find(AuditEvent, { eventType: 'CERTIFICATE_REVOKED', objectId: { $in: ids } })
    expect([events.length, new Set(events.map(({ objectId }) => objectId)).size]).toEqual([most, most])
    expect(await em.count(Certificate, { ...mine, version: 2, revocationRunId: null, crlPending: false })).toBe(most)
    const response = await fetch(`${service.started.addresses.baseUrl}/pki/crl/${caId}.crl`)
    const { entries, length } = await readCrl(bench, Buffer.from(await response.arrayBuffer()))
    const rows = await em.find(Certificate, mine, { fields: ['serialNumber'] })
    expect(rows.filter(({ serialNumber }) => !entries.has(serialNumber))).toEqual([])
    expect([length, entries.size]).toEqual([listedBefore + most, listedBefore + most])
  },
  2 * patienceMs,
)
