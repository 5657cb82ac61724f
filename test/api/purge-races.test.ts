// Purges beside others (contract 4.5): one of a kind at a time, nothing comes back half, and whoever archives, issues, makes or
// reads in the same realm gets an answer.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Purge, PurgeItem } from '../../storage/rows/purge.ts'
import { nextPart } from '../../storage/purging.ts'
import { purgeRun } from '../../workflows/purge-starts.ts'
import { copyCertificate } from '../support/copies.ts'
import { issueFor, refusalOf, setSetting, statusesOf, until } from '../support/issuing.ts'
import { deletionsOf, expire, newTree, purger } from '../support/purging.ts'
import { detailsOf, makeScene, startService, type Service } from '../support/service.ts'

let service: Service
let admin: Awaited<ReturnType<Service['user']>>
let calls: ReturnType<typeof purger>
let stopWorker: (() => Promise<void>) | undefined

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  admin = await service.user({ GLOBAL: ['ADMIN'] })
  calls = purger(admin)
})
afterAll(async () => {
  await stopWorker?.()
  await service.stop()
})

const work = async (): Promise<void> => {
  stopWorker ??= await service.startWorker()
}
const rest = async (): Promise<void> => {
  await stopWorker?.()
  stopWorker = undefined
}
const waitAtMost = (seconds: number) => setSetting(service, 'purge.wait-seconds', String(seconds))
const allClosed = () =>
  until('all purges are closed', async () => (await service.em().count(Purge, { closedDate: null })) === 0)

test('one that takes longer goes on in the background, is the only one of its kind, and keeps what it has', async () => {
  await work()
  const [tree, other] = [await newTree(service), await newTree(service)]
  await rest()
  await waitAtMost(0)
  const { ids } = tree
  await calls.archived('REALM', ids.REALM)
  await calls.archived('REALM', other.ids.REALM)
  const begin = performance.now()
  await calls.removed('REALM', ids.REALM)
  expect(performance.now() - begin).toBeLessThan(30_000)
  for (const again of [await calls.remove('REALM', other.ids.REALM), await calls.removeUntil('REALM', '2030-01-01')])
    expect(refusalOf(again)).toEqual([409, 'INVALID_STATE'])
  // What is asked first is asked first here as well.
  expect(refusalOf(await calls.remove('REALM', randomUUID()))).toEqual([404, 'REALM_NOT_FOUND'])
  expect(refusalOf(await calls.archive('REALM', [ids.REALM], false))).toEqual([409, 'INVALID_STATE'])
  expect(refusalOf(await calls.archive('POLICY', [ids.POLICY], false))).toEqual([409, 'PARENT_ARCHIVED'])
  // Another kind is another purge.
  await calls.archived('CERTIFICATE', other.ids.CERTIFICATE)
  await calls.removed('CERTIFICATE', other.ids.CERTIFICATE)
  expect(refusalOf(await calls.archive('REALM', [other.ids.REALM], false))).toEqual([409, 'INVALID_STATE'])
  await work()
  await allClosed()
  expect(await calls.statusOf('REALM', ids.REALM)).toBe(404)
  expect((await calls.archive('REALM', [other.ids.REALM], false)).status).toBe(204)
  expect(await calls.statusOf('CERTIFICATE', other.ids.CERTIFICATE)).toBe(404)
})

test('one whose start was lost is started by the reconciler', async () => {
  await work()
  const { ids } = await newTree(service)
  await calls.archived('POLICY', ids.POLICY)
  const purge = { id: `purge/POLICY/${randomUUID()}`, kind: 'POLICY' as const }
  const startedDate = new Date(Date.now() - 60_000)
  const em = service.em()
  em.create(Purge, { ...purge, createdBy: admin.id, createdByType: 'USER', startedDate, total: 1 })
  await em.flush()
  em.create(PurgeItem, { resourceId: ids.POLICY, purgeId: purge.id })
  await em.flush()
  await service.activities.startMissingRuns()
  await allClosed()
  expect(await calls.statusOf('POLICY', ids.POLICY)).toBe(404)
  expect(await detailsOf(service, purge.id)).toBe('1 of 1 deleted, 3 others with them; 0 skipped')
})

test('a resource whose requests are deleted already does not come back', async () => {
  await work()
  const { ids, certificate } = await newTree(service)
  await calls.archived('REALM', ids.REALM)
  await rest()
  await waitAtMost(0)
  await calls.removed('END_ENTITY', ids.END_ENTITY)
  const { id } = await service.em().findOneOrFail(Purge, { kind: 'END_ENTITY', closedDate: null })
  const part = await nextPart(service.em(), id, new Date())
  expect(part?.requestIds.toSorted()).toEqual([ids.CERT_REQUEST, certificate.certRequestId].toSorted())
  expect(refusalOf(await calls.archive('END_ENTITY', [ids.END_ENTITY], false))).toEqual([409, 'INVALID_STATE'])
  expect(refusalOf(await calls.archive('REALM', [ids.REALM], false))).toEqual([409, 'INVALID_STATE'])
  await work()
  await allClosed()
  expect((await calls.archive('REALM', [ids.REALM], false)).status).toBe(204)
  expect(await calls.statusOf('POLICY', ids.POLICY)).toBe(200)
  expect(await calls.statusOf('END_ENTITY', ids.END_ENTITY)).toBe(404)
})

test('a run that is stopped between two parts ends exact: 3,000 certificates, each recorded once', async () => {
  await work()
  const scene = await makeScene(service)
  const certificate = await issueFor(scene)
  await expire(service, certificate)
  await service.api.deps.orm.em.fork().transactional(em => copyCertificate(em, certificate.id, 2999))
  await calls.archived('POLICY', scene.policyId)
  const rows = await service.em().find(Certificate, { policyId: scene.policyId }, { fields: ['certRequestId'] })
  expect(rows).toHaveLength(3000)
  const ids = rows.flatMap(({ id, certRequestId }) => [id, certRequestId])
  await waitAtMost(0)
  await calls.removed('POLICY', scene.policyId)
  const count = () => service.em().count(CertRequest, { policyId: scene.policyId })
  await until('something is deleted', async () => (await count()) < 3000)
  await rest()
  const { deleted, along } = await service
    .em()
    .findOneOrFail(Purge, { kind: 'POLICY' }, { orderBy: { startedDate: 'desc' } })
  expect([deleted, along]).toEqual([0, 2 * (3000 - (await count()))])
  await work()
  await allClosed()
  expect(await count()).toBe(0)
  expect(new Set(await deletionsOf(service.em(), [...ids, scene.policyId]))).toEqual(new Set([1]))
  const purge = await service.em().findOneOrFail(Purge, { kind: 'POLICY' }, { orderBy: { startedDate: 'desc' } })
  expect(purge).toMatchObject({ total: 1, deleted: 1, along: 6000, skipped: 0 })
})

test('realms are deleted while others archive, bring back, make, issue and read: no answer is a failure of ours', async () => {
  await work()
  await waitAtMost(60)
  for (let round = 0; round < 4; round++) {
    const { scene, ids } = await newTree(service)
    const spare = await newTree(service)
    await calls.archived('REALM', ids.REALM)
    const reads = ['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'] as const
    const endings = await Promise.all([
      calls.remove('REALM', ids.REALM),
      calls.remove('POLICY', ids.POLICY),
      calls.removeUntil('CERTIFICATE', new Date().toISOString()),
      calls.remove('END_ENTITY', ids.END_ENTITY),
      calls.archive('REALM', [ids.REALM], false),
      calls.archive('POLICY', [ids.POLICY], false),
      calls.archive('CERTIFICATE', [spare.ids.CERTIFICATE]),
      scene.owner.post('/api/v1/end-entities', { realmId: ids.REALM, commonName: 'late.example.org' }),
      scene.owner.post(`/api/v1/certificates/cert-requests/${ids.CERT_REQUEST}`),
      admin.post('/api/v1/certificates/search', { realmId: ids.REALM, archived: true }),
      admin.post('/api/v1/policies/search', { realmId: ids.REALM, archived: true }),
      spare.scene.newRequest().catch(() => undefined),
      ...reads.flatMap(kind => Array.from({ length: 4 }, () => calls.statusOf(kind, ids[kind]))),
    ])
    const statuses = endings.flatMap(one => {
      if (typeof one === 'number') return [one]
      return typeof one === 'object' ? [one.status] : []
    })
    expect(statuses.filter(status => status >= 500)).toEqual([])
    await allClosed()
    expect(await service.em().count(PurgeItem, {})).toBe(0)
    const alive = await calls.statusOf('REALM', ids.REALM)
    const deletions = await deletionsOf(service.em(), Object.values(ids))
    expect(Math.max(...deletions)).toBeLessThanOrEqual(1)
    expect(deletions[0]).toBe(alive === 404 ? 1 : 0)
  }
})

test('two of a kind at once: one is taken', async () => {
  const trees = [await newTree(service), await newTree(service)]
  for (const { ids } of trees) await calls.archived('REALM', ids.REALM)
  await rest()
  await waitAtMost(0)
  const answers = await Promise.all(trees.map(({ ids }) => calls.remove('REALM', ids.REALM)))
  expect(statusesOf(answers)).toEqual([204, 409])
  expect(await service.em().count(PurgeItem, {})).toBe(1)
  await work()
  await allClosed()
  // A run that is asked for again after its end has nothing to do.
  const [last] = await service.em().find(Purge, { kind: 'REALM' }, { orderBy: { startedDate: 'desc' }, limit: 1 })
  await service.services.runs.start(purgeRun({ id: last?.id ?? '', kind: 'REALM' }))
  const result = await service.client.workflow.getHandle(last?.id ?? '').result()
  expect(result).toEqual({ deleted: 1, skipped: 0 })
})
