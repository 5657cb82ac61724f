// The worker is killed in the middle of a large order.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { makeScene, requestAll } from './scene.ts'

const size = 1000
const patienceMs = 400_000

let service: Processes

beforeAll(async () => {
  service = await startProcesses()
}, 120_000)
afterAll(() => service.stop(), 60_000)

const counted = async (): Promise<number> => service.orm.em.fork().count(Certificate)

/** Looks often, with a bound that only a standstill reaches. */
const untilCount = async (what: string, holds: (count: number) => boolean): Promise<number> => {
  const end = performance.now() + patienceMs
  for (;;) {
    const count = await counted()
    if (holds(count)) return count
    if (performance.now() > end) throw new Error(`${what} never came true, there are ${count} certificates.`)
    await new Promise(resolve => void setTimeout(resolve, 20))
  }
}

test(
  'a worker that is killed in the middle of an order of 1,000 issues every request exactly once after its restart',
  async () => {
    const scene = await makeScene(service, size)
    const ids = await requestAll(service, scene)
    const ordered = await service.call('POST', '/api/v2/certificates/cert-requests?omitArtifacts=true', ids)
    expect(ordered.status).toBe(201)
    const { orderId } = ordered.body
    await untilCount('the first certificates', count => count > 0)
    const { worker } = service.running
    await worker.kill()
    expect(await worker.exited).toContain('SIGKILL')
    const atTheKill = await counted()
    expect(atTheKill).toBeGreaterThan(0)
    expect(atTheKill).toBeLessThan(size)

    await service.startWorker()
    await untilCount('all certificates', count => count >= size)
    let order = await service.call('GET', `/api/v2/orders/${orderId}`)
    const end = performance.now() + patienceMs
    while (order.body.status === 'RUNNING' && performance.now() < end) {
      await new Promise(resolve => void setTimeout(resolve, 100))
      order = await service.call('GET', `/api/v2/orders/${orderId}`)
    }
    expect(order.body).toMatchObject({ status: 'COMPLETED', total: size, issued: size, failed: 0, waiting: 0 })

    const em = service.orm.em.fork()
    const certificates = await em.find(Certificate, {})
    expect(certificates).toHaveLength(size)
    expect(new Set(certificates.map(row => row.certRequestId))).toEqual(new Set(ids))
    for (const key of ['serialNumber', 'fingerprint', 'publicKeyHash', 'privateKeyId'] as const)
      expect(new Set(certificates.map(row => row[key])).size).toBe(size)
    // No key without its certificate, but for those of the two CAs and of their OCSP signers.
    const [keys] = await em.execute<{ orphans: number }[]>(
      `select count(*)::int as orphans from private_key k
        where not exists (select 1 from certificate c where c.private_key_id = k.id)
          and not exists (select 1 from ca where ca.private_key_id = k.id)
          and not exists (select 1 from ocsp_signer s where s.private_key_id = k.id)`,
    )
    expect(keys?.orphans).toBe(0)
    expect(await em.count(AuditEvent, { eventType: 'CERTIFICATE_ISSUED' })).toBe(size)
    expect(await em.count(AuditEvent, { eventType: 'ORDER_FAILED' })).toBe(0)
    expect(await em.count(PermissionGrant, { scope: 'CERTIFICATE' })).toBe(size)
    const [requests] = await em.execute<{ odd: number }[]>(
      `select count(*)::int as odd from cert_request r
        where r.cert_request_status <> 'ISSUED' or r.run_id is not null
          or not exists (select 1 from certificate c where c.id = r.certificate_id and c.cert_request_id = r.id)`,
    )
    expect(requests?.odd).toBe(0)
  },
  2 * patienceMs,
)
