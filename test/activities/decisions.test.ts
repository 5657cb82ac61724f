// Recorded decisions count once, also when they are repeated or concurrent.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { CertRequestAction } from '../../domain/enums.ts'
import type { Principal } from '../../domain/principal.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { OrderItem } from '../../storage/rows/certificate-order.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { makeScene, newOrder, newRequest, openFixture, reread, run, type Fixture } from './fixture.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await openFixture()
})
afterAll(() => fixture.orm.close())

const person = (name: string): Principal => ({ id: randomUUID(), type: 'USER', name })
const decide = (certRequestId: string, action: CertRequestAction, principal: Principal) =>
  run(fixture.activities.recordDecision, { certRequestId, action, principal })
const waiting = async (members = {}) =>
  newRequest(fixture.em(), await makeScene(fixture.orm), { status: 'PENDING_APPROVAL', runId: null, ...members })
const eventsOf = async (objectId: string) =>
  (await fixture.em().find(AuditEvent, { objectId }, { orderBy: { id: 'asc' } })).map(
    ({ eventType, principalId, eventDescription }) => ({ eventType, principalId, eventDescription }),
  )

test('an approval is a state, a response and an audit event', async () => {
  const request = await waiting()
  const ada = person('Ada')
  expect(await decide(request.id, 'APPROVE', ada)).toEqual({ status: 'APPROVED', orderId: null })
  const row = await reread(fixture.em(), request)
  expect(row).toMatchObject({ certRequestStatus: 'APPROVED', lastModifiedBy: ada.id, version: 2 })
  expect(row.userResponses).toEqual([
    { userId: ada.id, userType: 'USER', action: 'APPROVE', responseDate: expect.stringMatching(/^\d{4}-.*Z$/) },
  ])
  expect(await eventsOf(request.id)).toEqual([
    {
      eventType: 'CERT_REQUEST_APPROVED',
      principalId: ada.id,
      eventDescription: expect.stringMatching(/approved by Ada$/),
    },
  ])
})

test.each(['APPROVE', 'DECLINE'] as const)('the same decision (%s) recorded twice counts once', async action => {
  const request = await waiting()
  const ada = person('Ada')
  const first = await decide(request.id, action, ada)
  expect(await decide(request.id, action, ada)).toEqual(first)
  const row = await reread(fixture.em(), request)
  expect(row.userResponses).toHaveLength(1)
  expect(row.version).toBe(2)
  expect(await eventsOf(request.id)).toHaveLength(1)
})

test('the same decision recorded at the same time counts once', async () => {
  const request = await waiting()
  const ada = person('Ada')
  const answers = await Promise.all([1, 2, 3, 4].map(() => decide(request.id, 'APPROVE', ada)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['APPROVED']))
  expect((await reread(fixture.em(), request)).userResponses).toHaveLength(1)
  expect(await eventsOf(request.id)).toHaveLength(1)
})

test('under dual control two principals approve, and the second time of one of them changes nothing', async () => {
  const request = await waiting({ dualControl: true })
  const [ada, bob] = [person('Ada'), person('Bob')]
  expect((await decide(request.id, 'APPROVE', ada)).status).toBe('PENDING_APPROVAL')
  expect((await decide(request.id, 'APPROVE', ada)).status).toBe('PENDING_APPROVAL')
  expect((await decide(request.id, 'APPROVE', bob)).status).toBe('APPROVED')
  expect((await reread(fixture.em(), request)).userResponses.map(({ userId }) => userId)).toEqual([ada.id, bob.id])
})

test('of an approval and a refusal at the same time one counts', async () => {
  const request = await waiting()
  const results = await Promise.allSettled([
    decide(request.id, 'APPROVE', person('Ada')),
    decide(request.id, 'DECLINE', person('Bob')),
  ])
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const refusal = results.find(result => result.status === 'rejected')
  expect(refusal?.reason).toMatchObject({ type: 'INVALID_STATE', nonRetryable: true })
  expect((await reread(fixture.em(), request)).userResponses).toHaveLength(1)
})

test('a decision that the state does not allow records nothing', async () => {
  const request = await waiting({ status: 'APPROVED' })
  await expect(decide(request.id, 'APPROVE', person('Ada'))).rejects.toMatchObject({ type: 'INVALID_STATE' })
  expect(await eventsOf(request.id)).toEqual([])
})

test('an approval is checked against the rules again, and records nothing when they are broken', async () => {
  const request = await waiting()
  const em = fixture.em()
  const endEntity = await em.findOneOrFail(EndEntity, request.endEntityId)
  endEntity.archived = true
  await em.flush()
  const ada = person('Ada')
  await expect(decide(request.id, 'APPROVE', ada)).rejects.toMatchObject({ type: 'ENTITY_ARCHIVED' })
  expect((await reread(em, request)).certRequestStatus).toBe('PENDING_APPROVAL')
  expect(await eventsOf(request.id)).toEqual([])
  expect((await decide(request.id, 'DECLINE', ada)).status).toBe('DECLINED')
})

test('declining cancels the item of the running order, frees the request and tells the order', async () => {
  const scene = await makeScene(fixture.orm)
  const { orderId, requests } = await newOrder(fixture.em(), scene, [{ status: 'PENDING_APPROVAL' }])
  const [request] = requests
  if (!request) throw new Error('no request')
  expect(await decide(request.id, 'DECLINE', person('Ada'))).toEqual({ status: 'DECLINED', orderId })
  const em = fixture.em()
  expect(await em.findOneOrFail(OrderItem, { orderId })).toMatchObject({ status: 'CANCELED', failureCode: null })
  expect((await reread(em, request)).runId).toBe(null)
  expect((await eventsOf(request.id)).map(({ eventType }) => eventType).toSorted()).toEqual([
    'CERT_REQUEST_DECLINED',
    'ORDER_CANCELED',
  ])
})
