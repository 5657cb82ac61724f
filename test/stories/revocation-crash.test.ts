// The worker is killed in the middle of a large revocation.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
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
const makeCertificates = async ({ realmId, policyId, endEntityIds }: Scene, issuerCaId: string): Promise<string[]> => {
  const now = new Date()
  const stamp = {
    createdByType: 'SYSTEM',
    createdDate: now,
    lastModifiedByType: 'SYSTEM',
    lastModifiedDate: now,
    version: 1,
  }
  const common = { ...stamp, realmId, policyId, endEntityId: endEntityIds[0], keyPairMode: 'SERVER_GEN' }
  const made = Array.from({ length: size }, () => ({ id: randomUUID(), certRequestId: randomUUID() }))
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
    const ids = await makeCertificates(scene, caId)
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
