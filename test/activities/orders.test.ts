// The activities of an order: its plan, its parts, its end.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateOrder, OrderItem } from '../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { claimRequests, deliver } from '../../storage/claims.ts'
import { lockRow } from '../../storage/lock.ts'
import { endItems } from '../../storage/order-items.ts'
import { certRequestWorkflowId } from '../../workflows/ids.ts'
import { searchAttributes } from '../../workflows/messages.ts'
import { until } from '../support/issuing.ts'
import {
  makeScene,
  newOrder,
  newRequest,
  openFixture,
  reread,
  run,
  set,
  type Scene,
  type RequestMembers,
  type Fixture,
} from './fixture.ts'

let fixture: Fixture
let scene: Scene

beforeAll(async () => {
  fixture = await openFixture()
  scene = await makeScene(fixture.orm)
})
afterAll(() => fixture.orm.close())

const pending: RequestMembers = { status: 'PENDING_APPROVAL' }
const order = (...members: RequestMembers[]) => newOrder(fixture.em(), scene, members)
const itemsOf = (orderId: string) => fixture.em().find(OrderItem, { orderId }, { orderBy: { position: 'asc' } })
const issueAll = (orderId: string) => run(fixture.activities.issueOrderItems, { orderId, from: 0, to: 99 })

test('the plan of an order is its size and its deadline', async () => {
  const { orderId } = await order({}, {})
  await set(fixture, 'order.max-wait-days', '3')
  const { startedDate } = await fixture.em().findOneOrFail(CertificateOrder, orderId)
  expect(await run(fixture.activities.beginOrder, { orderId })).toEqual({
    itemCount: 2,
    expiresAt: new Date(startedDate.getTime() + 3 * 86_400_000).toISOString(),
  })
  await set(fixture, 'order.max-wait-days', null)
})

test('what may be issued is issued, the rest waits', async () => {
  const { orderId, requests } = await order({}, pending, {})
  expect(await issueAll(orderId)).toMatchObject({ issued: 2, waiting: 1 })
  expect((await itemsOf(orderId)).map(({ status }) => status)).toEqual(['COMPLETED', 'RUNNING', 'COMPLETED'])
  expect((await reread(fixture.em(), { id: requests[1]?.id ?? '' })).runId).toBe(orderId)
})

test('a part that is run again issues nothing twice', async () => {
  const { orderId, requests } = await order({}, {})
  expect(await issueAll(orderId)).toEqual({ issued: 2, waiting: 0 })
  expect(await issueAll(orderId)).toEqual({ issued: 0, waiting: 0 })
  const ids = requests.map(({ id }) => id)
  expect(await fixture.em().count(Certificate, { certRequestId: { $in: ids } })).toBe(2)
})

test('two runs of one part at the same time issue it once', async () => {
  const { orderId, requests } = await order({}, {}, {}, {})
  const results = await Promise.all([issueAll(orderId), issueAll(orderId)])
  expect(results.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(0)
  const ids = requests.map(({ id }) => id)
  expect(await fixture.em().count(Certificate, { certRequestId: { $in: ids } })).toBe(4)
  expect((await itemsOf(orderId)).map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'COMPLETED'))
})

test('what was decided is issued by name, and the rest of the order is counted', async () => {
  const { orderId, requests } = await order(pending, pending)
  const [id = ''] = requests.map(request => request.id)
  await fixture.em().execute(`update cert_request set cert_request_status = 'APPROVED' where id = ?`, [id])
  const done = await run(fixture.activities.issueDecided, { orderId, certRequestIds: [id] })
  expect(done).toMatchObject({ issued: 1, waiting: 1 })
})

test('a small order that waits tells the way of each request, by position, to the end', async () => {
  const { orderId, requests } = await order(pending, pending)
  const [one = '', other = ''] = requests.map(({ id }) => id)
  const { story } = await issueAll(orderId)
  expect(story?.map(({ certRequestId, item }) => [certRequestId, item])).toEqual([
    [one, 'RUNNING'],
    [other, 'RUNNING'],
  ])
  const responses = JSON.stringify([
    { userId: one, userType: 'USER', action: 'APPROVE', responseDate: '2026-01-02T03:04:05.678Z' },
  ])
  await fixture
    .em()
    .execute(`update cert_request set cert_request_status = 'APPROVED', user_responses = ? where id = ?`, [
      responses,
      one,
    ])
  const decided = await run(fixture.activities.issueDecided, { orderId, certRequestIds: [one] })
  const { certificateId, createdDate } = await reread(fixture.em(), { id: one })
  expect(decided.story?.[0]).toEqual({
    certRequestId: one,
    requestedDate: createdDate.toISOString(),
    requestedBy: { type: 'SYSTEM', id: null },
    verifiedDate: null,
    requiresManualApproval: true,
    dualControl: false,
    decisions: [{ date: '2026-01-02T03:04:05.678Z', by: { type: 'USER', id: one }, action: 'APPROVE' }],
    status: 'ISSUED',
    item: 'COMPLETED',
    failure: null,
    certificateId,
    issuedDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
  })
  const closed = await run(fixture.activities.closeOrder, { orderId, waited: true })
  expect(closed.status).toBe('COMPLETED')
  expect(closed.story?.map(({ item, failure }) => [item, failure])).toEqual([
    ['COMPLETED', null],
    ['FAILED', 'ORDER_EXPIRED'],
  ])
})

test('an order that does not wait, and one of more than ten requests, tell no story', async () => {
  const { orderId } = await order({}, {})
  expect(await issueAll(orderId)).toEqual({ issued: 2, waiting: 0 })
  const many = await order(...Array.from({ length: 11 }, () => pending))
  expect(await issueAll(many.orderId)).toEqual({ issued: 0, waiting: 11, story: undefined })
})

test('a refused item fails with its reason, its request is free and its realm hears of it', async () => {
  const { orderId, requests } = await order({ validFor: 'TEN_YEARS' })
  expect(await issueAll(orderId)).toEqual({ issued: 0, waiting: 0 })
  expect(await itemsOf(orderId)).toMatchObject([{ status: 'FAILED', failureCode: 'VALID_FOR_NOT_ALLOWED' }])
  const [id = ''] = requests.map(request => request.id)
  expect(await reread(fixture.em(), { id })).toMatchObject({ certRequestStatus: 'APPROVED', runId: null })
  const events = await fixture.em().find(AuditEvent, { objectId: id })
  expect(events).toMatchObject([{ eventType: 'ORDER_FAILED', realmId: scene.realm.id }])
})

test('a request that is archived while it waits does not keep its order running', async () => {
  const { orderId, requests } = await order({}, {})
  await fixture.em().execute('update cert_request set archived = true where id = ?', [requests[0]?.id])
  expect(await issueAll(orderId)).toEqual({ issued: 1, waiting: 0 })
  expect(await itemsOf(orderId)).toMatchObject([
    { status: 'FAILED', failureCode: 'ENTITY_ARCHIVED' },
    { status: 'COMPLETED' },
  ])
})

test.each([
  ['COMPLETED', ['COMPLETED', 'FAILED', 'CANCELED']],
  ['FAILED', ['FAILED', 'CANCELED']],
  ['CANCELED', ['CANCELED', 'CANCELED']],
])('an order is %s when its items are %p', async (expected, items) => {
  const { orderId } = await order(...items.map(() => pending))
  const em = fixture.em()
  for (const [position, status] of items.entries())
    await em.execute('update order_item set status = ? where order_id = ? and position = ?', [
      status,
      orderId,
      position,
    ])
  expect(await run(fixture.activities.closeOrder, { orderId })).toEqual({ status: expected })
})

test('closing expires what still waits, frees its requests, and a second closing changes nothing', async () => {
  const { orderId, requests } = await order(pending, pending)
  expect(await run(fixture.activities.closeOrder, { orderId })).toEqual({ status: 'FAILED' })
  expect(await itemsOf(orderId)).toMatchObject([{ failureCode: 'ORDER_EXPIRED' }, { failureCode: 'ORDER_EXPIRED' }])
  for (const request of requests)
    expect(await reread(fixture.em(), request)).toMatchObject({ certRequestStatus: 'PENDING_APPROVAL', runId: null })
  const closed = await fixture.em().findOneOrFail(CertificateOrder, orderId)
  expect(await run(fixture.activities.closeOrder, { orderId })).toEqual({ status: 'FAILED' })
  expect((await fixture.em().findOneOrFail(CertificateOrder, orderId)).closedDate).toEqual(closed.closedDate)
  const ids = requests.map(({ id }) => id)
  expect(await fixture.em().count(AuditEvent, { objectId: { $in: ids }, eventType: 'ORDER_FAILED' })).toBe(2)
})

test('closing waits for a decision that is under way, and both are kept', async () => {
  const { orderId, requests } = await order(pending)
  const [{ id } = { id: '' }] = requests
  const closing = await fixture.em().transactional(async em => {
    await lockRow(em, CertRequest, id)
    const going = run(fixture.activities.closeOrder, { orderId })
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until('closing waits', async () => (await fixture.em().execute<unknown[]>(waiting)).length > 0)
    await endItems(em, orderId, [{ certRequestId: id, status: 'CANCELED' }])
    return { going }
  })
  expect(await closing.going).toEqual({ status: 'CANCELED' })
})

test('of two runs that claim the same requests each request has one', async () => {
  const em = fixture.em()
  const ids: string[] = []
  for (let count = 0; count < 20; count++) ids.push((await newRequest(em, scene, { runId: null })).id)
  const wanted = { ids, states: ['APPROVED'], now: new Date() } as const
  const claims = await Promise.all(
    ['issue/one', 'issue/two', 'order-three'].map(runId =>
      fixture.em().transactional(tx => claimRequests(tx, runId, wanted)),
    ),
  )
  expect(claims.reduce((sum, claimed) => sum + claimed.size, 0)).toBe(20)
  expect(new Set(claims.flatMap(claimed => [...claimed])).size).toBe(20)
})

test('archived requests and those in another state are not claimed', async () => {
  const em = fixture.em()
  const archived = await newRequest(em, scene, { runId: null })
  await em.execute('update cert_request set archived = true where id = ?', [archived.id])
  const waiting = await newRequest(em, scene, { ...pending, runId: null })
  const wanted = { ids: [archived.id, waiting.id], states: ['APPROVED'], now: new Date() } as const
  const claimed = await claimRequests(em, 'issue/x', wanted)
  expect(claimed.size).toBe(0)
})

test('a certificate is delivered once, however many ask', async () => {
  const em = fixture.em()
  const { id } = await newRequest(em, scene, { runId: null })
  await em.execute('update cert_request set undelivered = true where id = ?', [id])
  const deliveries = await Promise.all([1, 2, 3].map(() => deliver(fixture.em(), [id])))
  expect(deliveries.filter(({ size }) => size === 1)).toHaveLength(1)
})

const attributesOf = (kind: string, ids: readonly (string | undefined)[]) => [
  { key: searchAttributes.realmId, value: scene.realm.id },
  { key: searchAttributes.policyId, value: scene.policy.id },
  { key: searchAttributes.kind, value: kind },
  { key: searchAttributes.requestIds, value: ids },
]

const startMissing = async () => {
  fixture.started.length = 0
  await run(fixture.activities.startMissingRuns as (input: undefined) => Promise<{ started: number }>, undefined)
  return fixture.started.map(({ id }) => id)
}

test('old claims, orders and waiting requests without a run are started, young ones are left alone', async () => {
  const em = fixture.em()
  const old = { claim: await newRequest(em, scene), waiting: await newRequest(em, scene, { ...pending, runId: null }) }
  const oldOrder = await order(pending)
  const young = {
    claim: await newRequest(em, scene),
    waiting: await newRequest(em, scene, { ...pending, runId: null }),
  }
  const youngOrder = await order(pending)
  const ago = `now() - interval '31 seconds'`
  await em.execute(`update cert_request set run_since = ${ago}, created_date = ${ago} where id in (?, ?, ?)`, [
    old.claim.id,
    old.waiting.id,
    oldOrder.requests[0]?.id,
  ])
  await em.execute(`update certificate_order set started_date = ${ago} where id = ?`, [oldOrder.orderId])
  const ids = await startMissing()
  expect(ids).toEqual(
    expect.arrayContaining([old.claim.runId, certRequestWorkflowId(old.waiting.id), oldOrder.orderId]),
  )
  for (const id of [young.claim.runId, certRequestWorkflowId(young.waiting.id), youngOrder.orderId])
    expect(ids).not.toContain(id)
  // As the API starts them: operators find a run again by the same facts.
  expect(fixture.started.find(({ id }) => id === old.claim.runId)).toEqual({
    workflow: 'issueCertificates',
    id: old.claim.runId,
    args: [[old.claim.id]],
    summary: `issue 1 request of policy ${scene.policy.name.slice(0, 30)}…`,
    attributes: attributesOf('ISSUE', [old.claim.id]),
  })
  expect(fixture.started.find(({ id }) => id === oldOrder.orderId)).toEqual({
    workflow: 'orderCertificates',
    id: oldOrder.orderId,
    args: [oldOrder.orderId],
    summary: `order 1 request of policy ${scene.policy.name.slice(0, 30)}…`,
    attributes: attributesOf('ORDER', [oldOrder.requests[0]?.id]),
  })
})

test('all requests of one claim are started as one run', async () => {
  const em = fixture.em()
  const runId = `issue/${randomUUID()}`
  const ids = [await newRequest(em, scene, { runId }), await newRequest(em, scene, { runId })].map(({ id }) => id)
  await em.execute(`update cert_request set run_since = now() - interval '31 seconds' where run_id = ?`, [runId])
  await startMissing()
  const runs = fixture.started.filter(({ id }) => id === runId)
  expect(runs).toHaveLength(1)
  expect([...((runs[0]?.args[0] ?? []) as string[])].toSorted()).toEqual(ids.toSorted())
})

test('a lost order is started even where hundreds of older ones wait', async () => {
  const em = fixture.em()
  await em.execute(
    `insert into certificate_order (id, created_by, multiple, omit_artifacts, status, started_date)
       select 'order-old-' || n, gen_random_uuid(), true, true, 'RUNNING', now() - interval '40 days' - n * interval '1 second'
         from generate_series(1, 700) n`,
  )
  const { orderId } = await order(pending)
  await em.execute(`update certificate_order set started_date = now() - interval '1 minute' where id = ?`, [orderId])
  expect(await startMissing()).toContain(orderId)
})
