// Group commit (contract 4.2): calls that come at once are issued by few runs, and each hears of its own request alone.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { issueTogether } from '../../api/resources/certificates/together.ts'
import { plan } from '../../api/resources/certificates/issue.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { refusalOf, requestRow, until } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const calls = 12
let service: Service
let scene: Scene
let stopWorker: (() => Promise<void>) | undefined

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  const stop = await service.startWorker()
  scene = await makeScene(service)
  await stop()
})
afterAll(() => service.stop())
beforeEach(() => {
  stopWorker = undefined
})
afterEach(() => stopWorker?.())

const newRequests = (count: number, of = scene): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, async () => of.newRequest({ endEntityId: await of.newEndEntity() })))
const create = (id: string, of = scene) => of.owner.post(`/api/v1/certificates/cert-requests/${id}`)
const runOf = async (id: string) => (await requestRow(service, id)).runId

/** Waits until runs have these requests; answers the ids of the runs. */
const runsOf = (ids: readonly string[]): Promise<string[]> =>
  until('all are claimed', async () => {
    const runs = await Promise.all(ids.map(runOf))
    return runs.every(Boolean) && (runs as string[])
  })

test('calls at once are few runs, each of which is found by any of its requests and says how many it holds', async () => {
  const ids = await newRequests(calls)
  const answers = Promise.all(ids.map(id => create(id)))
  const runs = await runsOf(ids)
  expect(new Set(runs).size).toBeLessThan(calls)
  const [[runId, theirs] = ['', []]] = [...Map.groupBy(ids, (_, index) => runs[index] ?? '')].toSorted(
    ([, one], [, other]) => other.length - one.length,
  )
  expect(theirs.length).toBeGreaterThan(1)

  for (const id of theirs) {
    const query = `WorkflowType = "issueCertificates" AND CertRequestIds = "${id}"`
    const [found] = await until('the run is found', async () => {
      const listed = await Array.fromAsync(service.client.workflow.list({ query }))
      return listed.length > 0 && listed
    })
    expect(found?.workflowId).toBe(runId)
  }
  const summary = await service.client.workflow
    .getHandle(runId)
    .describe()
    .then(run => run.staticSummary())
  expect(summary).toContain(`issue ${theirs.length} requests of policy`)
  stopWorker = await service.startWorker()
  const replies = await answers
  expect(replies.map(({ status, body }) => [status, body.certificate?.certRequestId])).toEqual(ids.map(id => [201, id]))
  expect(await service.em().count(Certificate, { certRequestId: { $in: ids } })).toBe(calls)
})

test('what a policy no longer allows fails alone', async () => {
  const other = await makeScene(service)
  const ids = await newRequests(4)
  const [refused = ''] = await newRequests(1, other)
  await service.em().nativeUpdate(Policy, other.policyId, { archived: true })
  const answers = Promise.all([...ids.map(id => create(id)), create(refused, other)])
  await runsOf(ids)
  stopWorker = await service.startWorker()
  const replies = await answers
  expect(replies.slice(0, -1).map(({ status }) => status)).toEqual(ids.map(() => 201))
  expect(replies.slice(-1).map(refusalOf)).toEqual([[409, 'ENTITY_ARCHIVED']])
})

/** A policy under a provider of its own, whose CA has lost its key as long as `repair` was not called. */
const brokenScene = async () => {
  const stop = await service.startWorker()
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const name = `Provider ${randomUUID()}`
  const provider = { name, certificateProviderType: 'LOCAL', configuration: '{}' }
  const { body } = await admin.post('/api/v1/certificate-providers', provider)
  await stop()
  const own = await makeScene(service, { certificateProviderId: body.id })
  const { issuingCaId } = await service.em().findOneOrFail(CertificateProvider, body.id)
  const copy = { id: randomUUID(), private_key_id: null, fingerprint: randomUUID() }
  await service
    .em()
    .execute('insert into ca select (jsonb_populate_record(ca, ?::jsonb)).* from ca where id = ?', [
      JSON.stringify(copy),
      issuingCaId,
    ])
  const use = (id: string | null | undefined) =>
    service.em().nativeUpdate(CertificateProvider, body.id, { issuingCaId: id })
  await use(copy.id)
  return { ...own, repair: () => use(issuingCaId) }
}

test('the request of a CA whose key is missing holds nobody up, and is issued when the key is there', async () => {
  const { repair, ...other } = await brokenScene()
  const ids = await newRequests(5)
  const [held = ''] = await newRequests(1, other)
  // The line is taken by the first two; the rest is one group.
  const answers = ids.slice(0, 2).map(id => create(id))
  await runsOf(ids.slice(0, 2))
  const late = create(held, other)
  answers.push(...ids.slice(2).map(id => create(id)))
  const runs = await runsOf([...ids, held])
  expect(runs.filter(run => run === runs.at(-1)).length).toBeGreaterThan(1)
  stopWorker = await service.startWorker()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(ids.map(() => 201))
  expect(await runOf(held)).toBe(runs.at(-1))
  await repair()
  expect((await late).status).toBe(201)
})

test('the same request twice at once is one certificate, for both', async () => {
  const [id = ''] = await newRequests(1)
  const others = await newRequests(2)
  const answers = Promise.all([...others, id, id].map(one => create(one)))
  await runsOf([...others, id])
  stopWorker = await service.startWorker()
  const [, , ...both] = await answers
  expect(both.map(({ status }) => status)).toEqual([201, 201])
  expect(new Set(both.map(({ body }) => body.certificate.id)).size).toBe(1)
})

test('whose time is over in the line hears that nothing was begun, and nothing was', async () => {
  const { temporal, clock } = service.deps
  const ids = await newRequests(66)
  const requests = await Promise.all(ids.map(id => requestRow(service, id)))
  const late = requests.pop()
  const issue = (request: CertRequest | undefined, seconds: number) =>
    issueTogether({ em: service.em(), temporal, clock }, plan(request as CertRequest), { who: 'somebody', seconds })
  // They take both places, whether the first begins alone or in company, and more of them stand in line.
  const begun = requests.map(request => issue(request, 60))
  await expect(issue(late, 0.05)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(await runOf(late?.id ?? '')).toBeNull()
  stopWorker = await service.startWorker()
  await Promise.all(begun)
  expect(refusalOf(await create(late?.id ?? ''))).toEqual([201, undefined])
})
