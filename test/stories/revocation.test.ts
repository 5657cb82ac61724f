// Revocations that are cut off, overtaken or asked for twice: each is recorded once, and no list goes back.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { WorkflowNotFoundError } from '@temporalio/client'
import { issueCrl } from '../../authority/crl.ts'
import { placeRevocation } from '../../storage/revocations.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { Crl } from '../../storage/rows/crl.ts'
import { PermissionGrant } from '../../storage/rows/permission-grant.ts'
import { Revocation, RevocationItem } from '../../storage/rows/revocation.ts'
import { User } from '../../storage/rows/user.ts'
import { revokeWorkflowId } from '../../workflows/ids.ts'
import { confirmed } from '../../workflows/messages.ts'
import { revokeRun, startOptions } from '../../workflows/starts.ts'
import { Workbench } from '../pki/openssl.ts'
import { factsOf, issueFor, refusalOf, setSetting, until } from '../support/issuing.ts'
import { crlWhere, fetchCrl } from '../support/revoking.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const bench = new Workbench()
let service: Service
let scene: Scene
let caId: string
let taskQueue: string
let stopWorker: () => Promise<void>

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  stopWorker = await service.startWorker()
  scene = await makeScene(service)
  caId = (await service.builtInCa()).issuingCaId ?? ''
  const { id } = await issueFor(scene)
  await revoke(id)
  const run = await service.em().findOneOrFail(Revocation, { createdBy: scene.owner.id })
  taskQueue = (await service.client.workflow.getHandle(run.id).describe()).taskQueue
})
afterAll(async () => {
  await stopWorker()
  await service.stop()
  await bench.clear()
})

const revoke = (id: string, reason = 'SUPERSEDED') =>
  scene.owner.post(`/api/v1/certificates/revoke?id=${id}&revocationReason=${reason}`)
const row = (id: string) => service.em().findOneOrFail(Certificate, id)
const revocationsOf = async (id: string) =>
  (await factsOf(service, id)).filter(type => type === 'CERTIFICATE_REVOKED').length
const reconcile = (): Promise<{ started: number }> =>
  service.client.workflow.execute('reconcile', { workflowId: `reconcile-${randomUUID()}`, taskQueue, args: [] })
/** A code of gRPC. */
const failedPrecondition = 9
const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1000)

/** Asks as a call does that dies before it starts its run. */
const askOnly = async (certificateIds: string[], now: Date, by = scene.owner.id): Promise<string> => {
  const id = revokeWorkflowId(randomUUID())
  const asked = { id, reason: 'SUPERSEDED', by: { id: by, type: 'USER' }, certificateIds, now } as const
  expect((await placeRevocation(service.em(), asked)).size).toBe(certificateIds.length)
  return id
}

describe('without a worker', () => {
  test('the call is told that the revocation goes on; a second one joins it; both see it done', async () => {
    const [one, other] = [await issueFor(scene), await issueFor(scene)]
    await stopWorker()
    await setSetting(service, 'issue.wait-seconds', '1')
    await setSetting(service, 'issue.batch-wait-seconds', '1')
    expect(refusalOf(await revoke(one.id))).toEqual([422, 'REVOCATION_PENDING'])
    const { body } = await scene.owner.get(`/api/v1/certificates/${one.id}`)
    expect([body.certStatus, typeof body.revocationRequestedDate, body.revocationCrlNumber]).toEqual([
      'ACTIVE',
      'string',
      null,
    ])
    expect(refusalOf(await revoke(one.id))).toEqual([422, 'REVOCATION_PENDING'])
    expect(refusalOf(await revoke(one.id, 'KEY_COMPROMISE'))).toEqual([422, 'REVOCATION_PENDING'])
    const ids = { certificateIds: [other.id, one.id], revocationReason: 'SUPERSEDED' }
    const batch = await scene.owner.post('/api/v1/certificates/batch-revoke', ids)
    expect(batch.body.errors.map(({ apiError }: { apiError: string }) => apiError)).toEqual([
      'REVOCATION_PENDING',
      'REVOCATION_PENDING',
    ])
    expect(await service.em().count(RevocationItem, { certificateId: one.id })).toBe(1)

    await setSetting(service, 'issue.wait-seconds', '60')
    await setSetting(service, 'issue.batch-wait-seconds', null)
    const joined = revoke(one.id)
    stopWorker = await service.startWorker()
    expect((await joined).body).toMatchObject({ id: one.id, certStatus: 'REVOKED', revocationReason: 'SUPERSEDED' })
    await until('the other is revoked', async () => (await row(other.id)).revocationDate)
    expect([await revocationsOf(one.id), await revocationsOf(other.id)]).toEqual([1, 1])
  })
})

/** Takes the tasks of a run and does none of them, as a worker that hangs, until Temporal takes no update of it any more. */
const hang = async (): Promise<void> => {
  const { workflowService, options } = service.client
  for (let attempt = 0; attempt < 3;)
    ({ attempt } = await workflowService.pollWorkflowTaskQueue({
      namespace: options.namespace,
      taskQueue: { name: taskQueue },
    }))
}

describe('with a worker that hangs', () => {
  test('the call is told that the revocation goes on, or answered by the next worker', async () => {
    const { id } = await issueFor(scene)
    await stopWorker()
    const start = revokeRun({ id: await askOnly([id], new Date()), count: 1, requests: [] })
    const options = { ...startOptions(start, taskQueue), workflowTaskTimeout: '1s' } as const
    const run = await service.client.workflow.start(start.workflow, options)
    await hang()
    await expect(run.executeUpdate(confirmed)).rejects.toMatchObject({ cause: { code: failedPrecondition } })
    await setSetting(service, 'issue.wait-seconds', '2')
    expect(refusalOf(await revoke(id))).toEqual([422, 'REVOCATION_PENDING'])

    await setSetting(service, 'issue.wait-seconds', '60')
    const joined = revoke(id)
    stopWorker = await service.startWorker()
    expect((await joined).body).toMatchObject({ id, certStatus: 'REVOKED', revocationReason: 'SUPERSEDED' })
    expect(await revocationsOf(id)).toBe(1)
  })
})

describe('a revocation whose run was never started', () => {
  test('is carried out once the reconciler has looked, and only once', async () => {
    const [one, other] = [await issueFor(scene), await issueFor(scene)]
    const id = await askOnly([one.id, other.id], ago(40))
    await reconcile()
    await until(
      'both are revoked',
      async () => (await row(one.id)).revocationDate && (await row(other.id)).revocationDate,
    )
    await until('it is closed', async () => (await service.em().findOneOrFail(Revocation, id)).closedDate)
    await reconcile()
    expect([await revocationsOf(one.id), await revocationsOf(other.id)]).toEqual([1, 1])
    expect((await row(one.id)).revocationRunId).toBeNull()
    await crlWhere(service, bench, {
      caId,
      what: 'both are listed',
      holds: ({ entries }) => entries.has(one.serialNumber) && entries.has(other.serialNumber),
    })
  })

  test('is left to its own call while it is young', async () => {
    const { id } = await issueFor(scene)
    const runId = await askOnly([id], ago(5))
    await reconcile()
    await expect(service.client.workflow.getHandle(runId).describe()).rejects.toBeInstanceOf(WorkflowNotFoundError)
  })

  test.each<[string, string, (id: string) => Promise<unknown>]>([
    ['lost the right', 'ACCESS_DENIED', principalId => service.em().nativeDelete(PermissionGrant, { principalId })],
    ['was disabled', 'PRINCIPAL_DISABLED', id => service.em().nativeUpdate(User, { id }, { enabled: false })],
  ])('revokes nothing for a principal who %s meanwhile', async (_, code, lose) => {
    const { id } = await issueFor(scene)
    const user = await service.user({ CERTIFICATE: { [id]: ['REVOKE'] } })
    const revocationId = await askOnly([id], ago(40), user.id)
    await lose(user.id)
    await reconcile()
    const item = await until('it is refused', () =>
      service.em().findOne(RevocationItem, { revocationId, status: 'FAILED' }),
    )
    expect([item.failureCode, (await row(id)).revocationDate, await revocationsOf(id)]).toEqual([code, null, 0])
    await until('the certificate is free', async () => (await row(id)).revocationRunId === null)
  })
})

test('of many calls for one certificate at once one records it, and the others are told', async () => {
  const { id } = await issueFor(scene)
  const replies = await Promise.all(
    ['SUPERSEDED', 'SUPERSEDED', 'KEY_COMPROMISE', 'UNSPECIFIED'].map(reason => revoke(id, reason)),
  )
  expect(replies.some(({ status }) => status === 200)).toBe(true)
  for (const { status, body } of replies)
    if (status !== 200) expect(['REVOCATION_PENDING', 'ALREADY_REVOKED']).toContain(body.apiError)
  expect(await revocationsOf(id)).toBe(1)
})

describe('the lists of a CA', () => {
  const build = () => service.services.orm.em.fork().transactional(em => issueCrl(em, service.services, caId))
  const due = (id: string) =>
    service
      .em()
      .nativeUpdate(
        Certificate,
        { id },
        { revocationDate: new Date(), revocationReason: 'SUPERSEDED', crlPending: true },
      )

  test('are made once for a state, however many build at the same time', async () => {
    const { id, serialNumber } = await issueFor(scene)
    await stopWorker()
    await due(id)
    const before = await service.em().count(AuditEvent, { eventType: 'CRL_ISSUED', objectId: caId })
    const made = await Promise.all([build(), build(), build(), build()])
    expect(new Set(made.map(({ number }) => number)).size).toBe(1)
    expect(await service.em().count(AuditEvent, { eventType: 'CRL_ISSUED', objectId: caId })).toBe(before + 1)
    expect((await fetchCrl(service, bench, caId)).entries.has(serialNumber)).toBe(true)
    expect(await row(id)).toMatchObject({ crlPending: false, revocationCrlNumber: made[0]?.number })
    stopWorker = await service.startWorker()
  })

  test('grow in number when the clock goes back and when the records do, and a build that breaks off leaves nothing', async () => {
    const clocks = { real: service.services.clock }
    const { number } = await fetchCrl(service, bench, caId)
    const { id } = await service
      .em()
      .findOneOrFail(Certificate, { revocationCrlNumber: { $ne: null } }, { orderBy: { id: 'asc' } })
    await due(id)
    const broken = service.services.orm.em.fork().transactional(async em => {
      await issueCrl(em, service.services, caId)
      throw new Error('the process dies')
    })
    await expect(broken).rejects.toThrow('the process dies')
    expect((await fetchCrl(service, bench, caId)).number).toBe(number)
    Object.assign(service.services, { clock: () => ago(86_400) })
    const back = await build()
    Object.assign(service.services, { clock: clocks.real })
    expect(back.number).toBe(number + 1)
    // Lists that are made as fast as can be do not run ahead of the clock either.
    let latest = back.number
    for (let lists = 0; lists < 10; lists += 1) {
      await due(id)
      const next = await build()
      expect(next.number).toBeGreaterThan(latest)
      latest = next.number
    }
    // A copy of the records from before knows none of the lists that were made since.
    await service.em().nativeDelete(Crl, { caId })
    expect((await build()).number).toBeGreaterThan(latest)
  })

  test('keep an expired entry for one list more, and name no import that bears our name', async () => {
    const leaf = await issueFor(scene)
    await revoke(leaf.id)
    await crlWhere(service, bench, {
      caId,
      what: 'it is listed',
      holds: ({ entries }) => entries.has(leaf.serialNumber),
    })
    // Certificates and lists have whole seconds; both of the lists that follow are made after its end.
    const [last] = await service.em().find(Crl, { caId, delta: false }, { orderBy: { number: 'desc' }, limit: 1 })
    const validNotAfter = new Date((last?.thisUpdate.getTime() ?? 0) + 1000)
    await service.em().nativeUpdate(Certificate, { id: leaf.id }, { validNotAfter })
    await until('its last second is over', async () => Date.now() >= validNotAfter.getTime() + 1000)
    const again = async () => {
      await service.em().nativeUpdate(Certificate, { id: leaf.id }, { crlPending: true })
      await build()
      return (await fetchCrl(service, bench, caId)).entries.has(leaf.serialNumber)
    }
    expect([await again(), await again()]).toEqual([true, false])

    const forged = await issueFor(scene)
    await service.em().nativeUpdate(Certificate, { id: forged.id }, { imported: true })
    expect(refusalOf(await revoke(forged.id))).toEqual([422, 'NOT_SUPPORTED_BY_PROVIDER'])
    const marked = await scene.owner.patch('/api/v1/certificates/mark-as-revoked', { certificateIds: [forged.id] })
    expect([marked.status, (await row(forged.id)).crlPending]).toEqual([204, false])
    await service.em().nativeUpdate(Certificate, { id: leaf.id }, { crlPending: true })
    await build()
    expect((await fetchCrl(service, bench, caId)).entries.has(forged.serialNumber)).toBe(false)
  })

  test('that are missing or past half of their validity are made by the schedule', async () => {
    const { number } = await fetchCrl(service, bench, caId)
    await service
      .em()
      .nativeUpdate(Crl, { caId, number }, { thisUpdate: ago(100), nextUpdate: new Date(Date.now() + 90_000) })
    await service.client.workflow.execute('renewCrls', { workflowId: `renew-${randomUUID()}`, taskQueue, args: [] })
    await crlWhere(service, bench, { caId, what: 'it is renewed', holds: crl => crl.number > number })
  })
})
