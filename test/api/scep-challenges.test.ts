// One-time SCEP challenges (contract 12.1): each is good for one thing, and for that again when a reply was lost.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { ScepChallenge } from '../../storage/rows/scep-challenge.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { deleteRequests } from '../../storage/purged-requests.ts'
import { hashOfChallenge } from '../../storage/scep-challenges.ts'
import { startApi, type Api } from '../support/api.ts'
import { makeDevice, passwordRow, secretOf, type Device } from '../support/end-entity-passwords.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeEndEntity, makePolicy, makeRealm, makeRequest } from '../support/records.ts'

let api: Api
let device: Device
const clock = { ahead: 0 }
const now = (): number => Date.now() + clock.ahead
beforeAll(async () => {
  api = await startApi({ deps: { clock: () => new Date(now()) } })
})
beforeEach(async () => {
  clock.ahead = 0
  device = await makeDevice(api)
})
afterAll(() => api.stop())

const minute = 60_000
const pathOf = (endEntityId = device.endEntity.id) => `/api/v1/end-entities/${endEntityId}/scep-challenge`
const ask = (members: object = {}) => device.owner.post(pathOf(), { policyId: device.policy.id, ...members })
const newSecret = async (members: object = {}) => secretOf(await device.newChallenge(members))
const kindsOf = async ({ endEntity }: Device): Promise<string[]> =>
  (await api.em().find(AuditEvent, { objectId: endEntity.id }, { orderBy: { id: 'asc' } })).map(one => one.eventType)

test('a spent challenge is good for nothing once the request that it was spent on is deleted', async () => {
  await device.givePassword()
  const secret = await newSecret()
  const members = { transaction: 'once' }
  expect([await device.passes(secret, members), await device.passes(secret, members)]).toEqual([true, true])
  const em = api.em()
  const { id } = await makeRequest(em, device.policy, device.endEntity)
  await em.transactional(tx => deleteRequests(tx, [id], { what: 'deleted', now: new Date() }))
  for (let count = 0; count < 3; count++) expect(await device.passes(secret, members)).toBe(false)
  // It is none that there never was, which would be a guess at the password.
  expect((await passwordRow(em, device)).failures).toBe(0)
  expect(await device.passes(await newSecret(), members)).toBe(true)
})

describe('createScepChallenge', () => {
  test('answers the form of the password method, and keeps a hash alone', async () => {
    const { status, body } = await ask()
    expect([status, body]).toEqual([
      201,
      {
        challenge: expect.stringMatching(new RegExp(`^${device.endEntity.id}:[A-Za-z0-9]{24}$`)),
        ...device.pair,
        expiresDate: expect.any(String),
      },
    ])
    const left = Date.parse(body.expiresDate) - Date.now()
    expect([left > 59 * minute, left <= 60 * minute]).toEqual([true, true])
    const [row, ...more] = await api.em().find(ScepChallenge, device.pair)
    expect([row?.hash, more]).toEqual([hashOfChallenge(secretOf(body.challenge)), []])
    const events = await api.em().find(AuditEvent, { objectId: device.endEntity.id })
    expect(events.map(({ eventType }) => eventType)).toEqual(['CHALLENGE_CREATED'])
    expect(JSON.stringify([row, events])).not.toContain(secretOf(body.challenge))
  })

  test('serves as long as is said, else as the setting says', async () => {
    const em = api.em()
    em.create(Setting, { settingsKey: 'scep.challenge-minutes', value: '5' })
    await em.flush()
    const [usual, long] = [await ask(), await ask({ validMinutes: 10_080 })]
    const minutesOf = ({ body }: typeof usual) => Math.round((Date.parse(body.expiresDate) - Date.now()) / minute)
    expect([minutesOf(usual), minutesOf(long)]).toEqual([5, 10_080])
    await em.nativeDelete(Setting, { settingsKey: 'scep.challenge-minutes' })
  })

  test.each([{ validMinutes: 0 }, { validMinutes: 10_081 }, { validMinutes: '5' }, { policyId: null }])(
    'does not take %j',
    async members => expect(refusalOf(await ask(members))).toEqual([400, 'INVALID_REQUEST']),
  )

  test('ends those before it that nobody has spent', async () => {
    const [first, second] = [await newSecret(), await newSecret()]
    expect([await device.passes(first), await device.passes(second)]).toEqual([false, true])
  })

  test('of several that are asked for at once one is left', async () => {
    const secrets = await Promise.all(Array.from({ length: 8 }, () => newSecret()))
    const answers: boolean[] = []
    for (const secret of secrets) answers.push(await device.passes(secret))
    expect(answers.filter(Boolean)).toHaveLength(1)
  })

  test('needs the rights of passwords', async () => {
    const body = { policyId: device.policy.id }
    expect((await api.anonymous.post(pathOf(), body)).status).toBe(401)
    expect(refusalOf(await device.gateway.post(pathOf(), body))).toEqual([403, 'ACCESS_DENIED'])
    const half = await api.user({ END_ENTITY: { [device.endEntity.id]: ['UPDATE'] } })
    expect(refusalOf(await half.post(pathOf(), body))).toEqual([403, 'ACCESS_DENIED'])
  })

  test('refuses what is unknown, archived, of another realm or without SCEP', async () => {
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const em = api.em()
    const post = (endEntityId: string, policyId: string) => admin.post(pathOf(endEntityId), { policyId })
    const { endEntityId, policyId } = device.pair
    expect(refusalOf(await post(randomUUID(), policyId))).toEqual([404, 'END_ENTITY_NOT_FOUND'])
    expect(refusalOf(await post(endEntityId, randomUUID()))).toEqual([404, 'POLICY_NOT_FOUND'])
    const stranger = await makeEndEntity(em, await makeRealm(em))
    expect(refusalOf(await post(stranger.id, policyId))).toEqual([422, 'REALM_MISMATCH'])
    const plain = await makePolicy(em, device.realm)
    expect(refusalOf(await post(endEntityId, plain.id))).toEqual([422, 'SCEP_NOT_ENABLED'])
    await em.nativeUpdate(EndEntity, { id: endEntityId }, { archived: true })
    expect(refusalOf(await post(endEntityId, policyId))).toEqual([409, 'ENTITY_ARCHIVED'])
    await em.nativeUpdate(EndEntity, { id: endEntityId }, { archived: false })
    await em.nativeUpdate(Policy, { id: policyId }, { archived: true })
    expect(refusalOf(await post(endEntityId, policyId))).toEqual([409, 'ENTITY_ARCHIVED'])
  })

  test('takes JSON', async () => {
    const form = { raw: 'a=b', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
    expect((await device.owner.post(pathOf(), undefined, form)).status).toBe(415)
  })
})

describe('a challenge', () => {
  const onA = { transaction: 'a' }

  test('without a transaction passes once', async () => {
    const secret = await newSecret()
    expect([await device.passes(secret), await device.passes(secret)]).toEqual([true, false])
    expect(await device.passes(secret, onA)).toBe(false)
    expect(await kindsOf(device)).toEqual(['CHALLENGE_CREATED', 'CHALLENGE_SPENT', 'CHALLENGE_REJECTED'])
  })

  test('passes again for what it was spent on, and for nothing else', async () => {
    const secret = await newSecret()
    const tries = [onA, onA, { transaction: 'b' }, {}, { transaction: '' }, onA]
    const answers: boolean[] = []
    for (const members of tries) answers.push(await device.passes(secret, members))
    expect(answers).toEqual([true, true, false, false, false, true])
    expect(await kindsOf(device)).toEqual(['CHALLENGE_CREATED', 'CHALLENGE_SPENT', 'CHALLENGE_REJECTED'])
  })

  test('that is spent on many things at once is spent on one', async () => {
    const secret = await newSecret()
    const tries = Array.from({ length: 40 }, (_, at) => ({ transaction: `thing ${at % 4}` }))
    const answers = await Promise.all(tries.map(members => device.passes(secret, members)))
    const passed = new Set(tries.filter((_, at) => answers[at]).map(({ transaction }) => transaction))
    expect([passed.size, answers.filter(Boolean).length]).toEqual([1, 10])
  })

  test('that is spent on nothing in particular many times at once passes once', async () => {
    const secret = await newSecret()
    const answers = await Promise.all(Array.from({ length: 30 }, () => device.passes(secret)))
    expect(answers.filter(Boolean)).toHaveLength(1)
  })

  test('ends with its time; one that was spent late is good for the same thing for an hour', async () => {
    const [early, other] = [await newSecret({ validMinutes: 10 }), await makeDevice(api)]
    clock.ahead = 10 * minute - 5000
    expect(await device.passes(early, onA)).toBe(true)
    const late = secretOf(await other.newChallenge({ validMinutes: 10 }))
    clock.ahead += 10 * minute + 1000
    expect([await other.passes(late, onA), await device.passes(early, onA)]).toEqual([false, true])
    clock.ahead += 51 * minute
    expect(await device.passes(early, onA)).toBe(false)
  })

  test('is that of its end entity and policy', async () => {
    const secret = await newSecret()
    const sibling = await makeEndEntity(api.em(), device.realm)
    expect(await device.passes(secret, { endEntityId: sibling.id })).toBe(false)
    const elsewhere = await makeDevice(api)
    expect(await elsewhere.passes(secret)).toBe(false)
    expect(await elsewhere.passes(secret, { endEntityId: device.endEntity.id })).toBe(false)
    expect(await device.passes(secret)).toBe(true)
  })

  test('of an archived end entity does not pass, spent or not', async () => {
    const [spent, open] = [await newSecret(), await makeDevice(api)]
    expect(await device.passes(spent, onA)).toBe(true)
    const secret = secretOf(await open.newChallenge())
    for (const { endEntity } of [device, open])
      await api.em().nativeUpdate(EndEntity, { id: endEntity.id }, { archived: true })
    expect([await device.passes(spent, onA), await open.passes(secret)]).toEqual([false, false])
    await api.em().nativeUpdate(EndEntity, { id: open.endEntity.id }, { archived: false })
    expect(await open.passes(secret)).toBe(true)
  })

  test('that is no longer good is no guess at the password', async () => {
    const password = await device.givePassword()
    const secret = await newSecret()
    expect(await device.passes(secret)).toBe(true)
    for (let time = 0; time < 12; time += 1) expect(await device.passes(secret)).toBe(false)
    expect((await passwordRow(api.em(), device)).failures).toBe(0)
    expect(await device.passes(password)).toBe(true)
  })
})
