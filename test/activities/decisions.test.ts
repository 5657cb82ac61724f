// Recorded decisions count once, also when they are repeated or concurrent.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { CertRequestAction } from '../../domain/enums.ts'
import type { Principal } from '../../domain/principal.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { OrderItem } from '../../storage/rows/certificate-order.ts'
import type { CertRequest } from '../../storage/rows/cert-request.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { User } from '../../storage/rows/user.ts'
import { giveGrants, type GrantsByScope } from '../support/api.ts'
import { makeScene, newOrder, newRequest, openFixture, reread, run, type Fixture } from './fixture.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await openFixture()
})
afterAll(() => fixture.orm.close())

/** A user who may approve what is asked under any policy. */
const person = async (name: string, grants: GrantsByScope = { GLOBAL: ['ADMIN'] }): Promise<Principal> => {
  const em = fixture.em()
  const { id } = em.create(User, { id: randomUUID(), providerId: randomUUID(), firstName: name })
  await em.flush()
  await giveGrants(em, id, grants)
  return { id, type: 'USER', name }
}
/** One message; the same one when it is given twice. */
const message = (certRequestId: string, action: CertRequestAction, principal: Principal) => ({
  certRequestId,
  action,
  principal,
  decisionId: randomUUID(),
})
const record = (told: ReturnType<typeof message>) => run(fixture.activities.recordDecision, told)
const decide = (...told: Parameters<typeof message>) => record(message(...told))
const waiting = async (members = {}) =>
  newRequest(fixture.em(), await makeScene(fixture.orm), { status: 'PENDING_APPROVAL', runId: null, ...members })
const eventsOf = async (objectId: string) =>
  (await fixture.em().find(AuditEvent, { objectId }, { orderBy: { id: 'asc' } })).map(
    ({ eventType, principalId, eventDescription }) => ({ eventType, principalId, eventDescription }),
  )

test('an approval is a state, a response and an audit event', async () => {
  const request = await waiting()
  const ada = await person('Ada')
  expect(await decide(request.id, 'APPROVE', ada)).toEqual({ status: 'APPROVED', orderId: null })
  const row = await reread(fixture.em(), request)
  expect(row).toMatchObject({ certRequestStatus: 'APPROVED', lastModifiedBy: ada.id, version: 2 })
  expect(row.userResponses).toEqual([
    {
      userId: ada.id,
      userType: 'USER',
      action: 'APPROVE',
      responseDate: expect.stringMatching(/^\d{4}-.*Z$/),
      decision: { id: expect.any(String), status: 'APPROVED', orderId: null },
    },
  ])
  expect(await eventsOf(request.id)).toEqual([
    {
      eventType: 'CERT_REQUEST_APPROVED',
      principalId: ada.id,
      eventDescription: expect.stringMatching(/approved by Ada$/),
    },
  ])
})

test.each(['APPROVE', 'DECLINE'] as const)('the same message (%s) worked on twice counts once', async action => {
  const request = await waiting()
  const ada = await person('Ada')
  const told = message(request.id, action, ada)
  const first = await record(told)
  expect(await record(told)).toEqual(first)
  const row = await reread(fixture.em(), request)
  expect(row.userResponses).toHaveLength(1)
  expect(row.version).toBe(2)
  expect(await eventsOf(request.id)).toHaveLength(1)
})

test('the same message worked on at the same time counts once', async () => {
  const request = await waiting()
  const ada = await person('Ada')
  const told = message(request.id, 'APPROVE', ada)
  const answers = await Promise.all([1, 2, 3, 4].map(() => record(told)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(['APPROVED']))
  expect((await reread(fixture.em(), request)).userResponses).toHaveLength(1)
  expect(await eventsOf(request.id)).toHaveLength(1)
})

test.each(['APPROVE', 'DECLINE'] as const)(
  'of equal messages (%s) of one principal exactly one counts',
  async action => {
    const request = await waiting()
    const ada = await person('Ada')
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => decide(request.id, action, ada)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results)
      if (result.status === 'rejected')
        expect(result.reason).toMatchObject({ type: 'INVALID_STATE', nonRetryable: true })
    expect(await eventsOf(request.id)).toHaveLength(1)
  },
)

test('a message without an id, of a run of an earlier version, counts once for its principal and action', async () => {
  const request = await waiting()
  const input = { certRequestId: request.id, action: 'APPROVE', principal: await person('Ada') } as const
  expect(await run(fixture.activities.recordDecision, input)).toEqual({ status: 'APPROVED', orderId: null })
  expect(await run(fixture.activities.recordDecision, input)).toEqual({ status: 'APPROVED', orderId: null })
  expect(await eventsOf(request.id)).toHaveLength(1)
})

test('a message that is worked on again answers what it led to, whatever came after it', async () => {
  const scene = await makeScene(fixture.orm)
  const { orderId, requests } = await newOrder(fixture.em(), scene, [{ status: 'PENDING_APPROVAL', dualControl: true }])
  const id = requests[0]?.id ?? ''
  const approval = message(id, 'APPROVE', await person('Ada'))
  const refusal = message(id, 'DECLINE', await person('Bob'))
  const [first, second] = [await record(approval), await record(refusal)]
  expect([first, second]).toEqual([
    { status: 'PENDING_APPROVAL', orderId },
    { status: 'DECLINED', orderId },
  ])
  expect(await record(approval)).toEqual(first)
  // The order has to hear of it, although the request is no longer its own.
  expect(await record(refusal)).toEqual(second)
})

describe('who decides is asked of the records', () => {
  const untouched = async (request: CertRequest) => {
    expect(await reread(fixture.em(), request)).toMatchObject({
      certRequestStatus: 'PENDING_APPROVAL',
      userResponses: [],
      version: 1,
    })
    expect(await eventsOf(request.id)).toEqual([])
  }

  test.each<[string, (request: CertRequest) => GrantsByScope]>([
    ['nothing', () => ({})],
    ['READ, UPDATE, DELETE on the request', ({ id }) => ({ CERT_REQUEST: { [id]: ['READ', 'UPDATE', 'DELETE'] } })],
    ['CERTREQS_READ on the policy', ({ policyId }) => ({ POLICY: { [policyId]: ['CERTREQS_READ', 'UPDATE'] } })],
    ['APPROVE on another request', () => ({ CERT_REQUEST: { [randomUUID()]: ['APPROVE'] } })],
    ['FULL_READ on the realm', ({ realmId }) => ({ REALM: { [realmId]: ['FULL_READ', 'UPDATE'] } })],
  ])('a principal who holds %s is refused, and nothing is changed', async (_, grants) => {
    const request = await waiting()
    const eve = await person('Eve', grants(request))
    for (const action of ['APPROVE', 'DECLINE'] as const)
      await expect(decide(request.id, action, eve)).rejects.toMatchObject({ type: 'ACCESS_DENIED', nonRetryable: true })
    await untouched(request)
  })

  test.each<[string, Principal]>([
    ['nobody', { id: randomUUID(), type: 'USER', name: 'Eve' }],
    ['the service itself', { id: null, type: 'SYSTEM', name: 'the service' }],
  ])('a message in the name of %s is refused', async (_, forged) => {
    const request = await waiting()
    await expect(decide(request.id, 'APPROVE', forged)).rejects.toMatchObject({ type: 'ACCESS_DENIED' })
    await untouched(request)
  })

  test('a principal who was disabled meanwhile is refused', async () => {
    const request = await waiting()
    const ada = await person('Ada')
    await fixture.em().nativeUpdate(User, { id: ada.id ?? '' }, { enabled: false })
    await expect(decide(request.id, 'APPROVE', ada)).rejects.toMatchObject({ type: 'PRINCIPAL_DISABLED' })
    await untouched(request)
  })

  test('a right that was lost after the decision was recorded does not change its answer', async () => {
    const request = await waiting()
    const told = message(request.id, 'APPROVE', await person('Ada'))
    const first = await record(told)
    await fixture.em().nativeUpdate(User, { id: told.principal.id ?? '' }, { enabled: false })
    expect(await record(told)).toEqual(first)
  })

  test('name and kind come from the records, not from the message', async () => {
    const request = await waiting()
    const ada = await person('Ada', { POLICY: { [request.policyId]: ['CERTREQS_APPROVE'] } })
    await decide(request.id, 'APPROVE', { ...ada, type: 'SYSTEM', name: 'somebody else' })
    expect((await reread(fixture.em(), request)).userResponses).toMatchObject([{ userId: ada.id, userType: 'USER' }])
    expect(await eventsOf(request.id)).toMatchObject([{ eventDescription: expect.stringMatching(/ by Ada$/) }])
  })
})

test('under dual control two principals approve, and the second time of one of them changes nothing', async () => {
  const request = await waiting({ dualControl: true })
  const [ada, bob] = [await person('Ada'), await person('Bob')]
  expect((await decide(request.id, 'APPROVE', ada)).status).toBe('PENDING_APPROVAL')
  const twice = decide(request.id, 'APPROVE', ada)
  await expect(twice).rejects.toMatchObject({ type: 'ALREADY_APPROVED_BY_PRINCIPAL' })
  expect((await decide(request.id, 'APPROVE', bob)).status).toBe('APPROVED')
  expect((await reread(fixture.em(), request)).userResponses.map(({ userId }) => userId)).toEqual([ada.id, bob.id])
})

test('of an approval and a refusal at the same time one counts', async () => {
  const request = await waiting()
  const results = await Promise.allSettled([
    decide(request.id, 'APPROVE', await person('Ada')),
    decide(request.id, 'DECLINE', await person('Bob')),
  ])
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const refusal = results.find(result => result.status === 'rejected')
  expect(refusal?.reason).toMatchObject({ type: 'INVALID_STATE', nonRetryable: true })
  expect((await reread(fixture.em(), request)).userResponses).toHaveLength(1)
})

test('a decision that the state does not allow records nothing', async () => {
  const request = await waiting({ status: 'APPROVED' })
  await expect(decide(request.id, 'APPROVE', await person('Ada'))).rejects.toMatchObject({ type: 'INVALID_STATE' })
  expect(await eventsOf(request.id)).toEqual([])
})

test('an approval is checked against the rules again, and records nothing when they are broken', async () => {
  const request = await waiting()
  const em = fixture.em()
  const endEntity = await em.findOneOrFail(EndEntity, request.endEntityId)
  endEntity.archived = true
  await em.flush()
  const ada = await person('Ada')
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
  expect(await decide(request.id, 'DECLINE', await person('Ada'))).toEqual({ status: 'DECLINED', orderId })
  const em = fixture.em()
  expect(await em.findOneOrFail(OrderItem, { orderId })).toMatchObject({ status: 'CANCELED', failureCode: null })
  expect((await reread(em, request)).runId).toBe(null)
  expect((await eventsOf(request.id)).map(({ eventType }) => eventType).toSorted()).toEqual([
    'CERT_REQUEST_DECLINED',
    'ORDER_CANCELED',
  ])
})
