// Authenticating an end entity by its password (contract 12): what is refused looks the same, and nobody tries for long.
import { createHook } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { EndEntityPassword } from '../../storage/rows/end-entity-password.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { startApi, type Api, type Reply } from '../support/api.ts'
import { makeDevice, passwordRow, passwordsPath, secretOf, type Device } from '../support/end-entity-passwords.ts'
import { refusalOf } from '../support/issuing.ts'
import { makeEndEntity, makePolicy } from '../support/records.ts'

let api: Api
let device: Device
let password: string
const clock = { ahead: 0 }
beforeAll(async () => {
  api = await startApi({ deps: { clock: () => new Date(Date.now() + clock.ahead) } })
})
beforeEach(async () => {
  clock.ahead = 0
  device = await makeDevice(api)
  password = await device.givePassword()
})
afterAll(() => api.stop())

const authenticatePath = `${passwordsPath}/authenticate`
const refused = { authenticated: false, endEntityId: null, policyId: null }
const minute = 60_000
const kindsOf = async ({ endEntity }: Device): Promise<string[]> => {
  const events = await api.em().find(AuditEvent, { objectId: endEntity.id }, { orderBy: { id: 'asc' } })
  return events.map(({ eventType }) => eventType).filter(kind => kind !== 'PASSWORD_CREATED')
}
const rejectedTimes = (count: number): string[] => Array.from({ length: count }, () => 'PASSWORD_REJECTED')
const guess = async (times: number): Promise<void> => {
  for (let time = 0; time < times; time += 1) expect(await device.passes(`wrong ${time}`)).toBe(false)
}
const set = async (settingsKey: string, value: string): Promise<void> => {
  const em = api.em()
  await em.nativeDelete(Setting, { settingsKey })
  em.create(Setting, { settingsKey, value })
  await em.flush()
}

/** What a call costs: how often a password is hashed, and what the database is asked, without the values. */
const workOf = async (ask: () => Promise<Reply>) => {
  let hashed = 0
  const hook = createHook({ init: (_id, type) => void (hashed += type === 'SCRYPTREQUEST' ? 1 : 0) }).enable()
  const statements: string[] = []
  const spy = jest.spyOn(api.deps.orm.config.getLogger(), 'logQuery')
  spy.mockImplementation(({ query = '' }) => void statements.push(query.replaceAll(/\[(took|rows).*?\]/g, '').trim()))
  try {
    const reply = await ask()
    return { reply, hashed, statements }
  } finally {
    spy.mockRestore()
    hook.disable()
  }
}

/** Every way to be refused, each with what is sent. */
const refusals: Readonly<Record<string, () => Promise<{ password: string; members?: object }>>> = {
  'a wrong password': async () => ({ password: `${password}x` }),
  'a locked password': async () => {
    await api.em().nativeUpdate(EndEntityPassword, device.pair, { lockedUntil: new Date(Date.now() + 10 * minute) })
    return { password }
  },
  'no password': async () => ({ password, members: { endEntityId: (await makeEndEntity(api.em(), device.realm)).id } }),
  'an unknown end entity': async () => ({ password, members: { endEntityId: randomUUID() } }),
  'an archived end entity': async () => {
    await api.em().nativeUpdate(EndEntity, { id: device.endEntity.id }, { archived: true })
    return { password }
  },
  'the password for another policy': async () => {
    const policy = await makePolicy(api.em(), device.realm)
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const other = { endEntityId: device.endEntity.id, policyId: policy.id }
    return { password: (await admin.post(passwordsPath, other)).body.password }
  },
  'the right password, spelt otherwise': async () => ({ password: password.toLowerCase() }),
  'a password that is locked, and wrong': async () => {
    await guess(10)
    return { password: 'wrong again' }
  },
  'an end entity of another realm': async () => {
    const other = await makeDevice(api)
    return { password: await other.givePassword(), members: { endEntityId: other.endEntity.id } }
  },
  'a challenge that has expired': async () => {
    const secret = secretOf(await device.newChallenge({ validMinutes: 1 }))
    clock.ahead = 2 * minute
    return { password: secret }
  },
  'a spent challenge': async () => {
    const secret = secretOf(await device.newChallenge())
    expect(await device.passes(secret)).toBe(true)
    return { password: secret }
  },
}

describe.each(Object.entries(refusals))('%s', (_, prepare) => {
  test('is refused as all others are, after hashing once and asking the database the same', async () => {
    const usual = await workOf(() => device.authenticate('wrong'))
    const { password: sent, members } = await prepare()
    const { reply, hashed, statements } = await workOf(() => device.authenticate(sent, members))
    expect([reply.status, reply.body, hashed]).toEqual([200, refused, 1])
    expect(statements).toEqual(usual.statements)
    expect(statements.length).toBeGreaterThan(10)
  })
})

describe('the right password', () => {
  test('is accepted again and again, recorded and dated', async () => {
    const { status, body } = await device.authenticate(password)
    expect([status, body]).toEqual([200, { authenticated: true, ...device.pair }])
    expect(await device.passes(password, { transaction: 'whatever' })).toBe(true)
    expect(await kindsOf(device)).toEqual(['PASSWORD_AUTHENTICATED', 'PASSWORD_AUTHENTICATED'])
    expect((await passwordRow(api.em(), device)).lastUsedDate).toBeInstanceOf(Date)
  })

  test('is known without opening the sealed one', async () => {
    await api.em().nativeUpdate(EndEntityPassword, device.pair, { sealed: Buffer.from('no key opens this') })
    expect(await device.passes(password)).toBe(true)
  })

  test('from many devices at once lets all of them in', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => device.passes(password)))
    expect(answers).toEqual(answers.map(() => true))
  })
})

describe('the lock', () => {
  test('comes with the last failure that is allowed, and holds out the right password', async () => {
    await guess(9)
    expect(await device.passes(password)).toBe(true)
    await guess(10)
    expect(await device.passes(password)).toBe(false)
    const lockKinds = [...rejectedTimes(9), 'PASSWORD_AUTHENTICATED', ...rejectedTimes(10), 'PASSWORD_LOCKED']
    expect(await kindsOf(device)).toEqual(lockKinds)
  })

  test('ends by itself, and tries during it neither prolong it nor are recorded', async () => {
    await guess(10)
    const { lockedUntil } = await passwordRow(api.em(), device)
    clock.ahead = 14 * minute
    await guess(3)
    expect((await passwordRow(api.em(), device)).lockedUntil).toEqual(lockedUntil)
    expect(await kindsOf(device)).toEqual([...rejectedTimes(10), 'PASSWORD_LOCKED'])
    clock.ahead = 15 * minute + 1000
    await guess(1)
    expect(await device.passes(password)).toBe(true)
    expect(await passwordRow(api.em(), device)).toMatchObject({ failures: 0, failingSince: null, lockedUntil: null })
  })

  test('forgets failures that are older than its time', async () => {
    await guess(9)
    clock.ahead = 15 * minute + 1000
    await guess(9)
    expect(await device.passes(password)).toBe(true)
  })

  test('is as the settings say', async () => {
    await set('password.max-failures', '3')
    await set('password.lock-minutes', '1')
    await guess(3)
    expect(await device.passes(password)).toBe(false)
    clock.ahead = minute + 1000
    expect(await device.passes(password)).toBe(true)
    await api.em().nativeDelete(Setting, { settingsKey: /^password\./ })
  })

  test('of a hundred guesses at once none is heard after it, the right one neither', async () => {
    await set('password.max-failures', '5')
    const wrong = Array.from({ length: 50 }, (_, at) => `wrong ${at}`)
    const before = Promise.all(wrong.map(word => device.passes(word)))
    await before
    const mixed = Array.from({ length: 100 }, (_, at) => (at % 10 === 9 ? password : `wrong ${at}`))
    const answers = await Promise.all(mixed.map(word => device.passes(word)))
    expect(answers).toEqual(answers.map(() => false))
    expect(await kindsOf(device)).toEqual([...rejectedTimes(5), 'PASSWORD_LOCKED'])
    expect((await passwordRow(api.em(), device)).failures).toBe(5)
    await api.em().nativeDelete(Setting, { settingsKey: /^password\./ })
  })

  test('of one password is not that of another, and does not bar a challenge', async () => {
    const other = await makePolicy(api.em(), device.realm)
    const admin = await api.user({ GLOBAL: ['ADMIN'] })
    const pair = { endEntityId: device.endEntity.id, policyId: other.id }
    const theirs: string = (await admin.post(passwordsPath, pair)).body.password
    await guess(10)
    const client = await api.apiClient({ POLICY: { [other.id]: ['SIGN'] } })
    expect((await client.post(authenticatePath, { ...pair, password: theirs })).body.authenticated).toBe(true)
    expect(await device.passes(secretOf(await device.newChallenge()))).toBe(true)
  })
})

describe('who asks', () => {
  test('needs SIGN on the policy, and a token', async () => {
    const body = { ...device.pair, password }
    expect((await api.anonymous.post(authenticatePath, body)).status).toBe(401)
    expect(refusalOf(await device.owner.post(authenticatePath, body))).toEqual([403, 'ACCESS_DENIED'])
    const elsewhere = await makeDevice(api)
    expect(refusalOf(await elsewhere.gateway.post(authenticatePath, body))).toEqual([403, 'ACCESS_DENIED'])
    expect(await kindsOf(device)).toEqual([])
  })

  test('names a policy that is there and not archived', async () => {
    const unknown = await device.authenticate(password, { policyId: randomUUID() })
    expect(refusalOf(unknown)).toEqual([404, 'POLICY_NOT_FOUND'])
    await api.em().nativeUpdate(Policy, { id: device.policy.id }, { archived: true })
    expect(refusalOf(await device.authenticate(password))).toEqual([409, 'ENTITY_ARCHIVED'])
  })

  test.each([{ password: null }, { password: '' }, { password: 'x'.repeat(256) }, { transaction: 'x'.repeat(129) }])(
    'does not send %j',
    async members => {
      expect(refusalOf(await device.authenticate(password, members))).toEqual([400, 'INVALID_REQUEST'])
    },
  )

  test('sends ids, and JSON', async () => {
    const wrong = await device.authenticate(password, { endEntityId: 'x' })
    expect(refusalOf(wrong)).toEqual([400, 'INVALID_IDENTIFIER'])
    const form = { raw: 'a=b', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
    expect((await device.gateway.post(authenticatePath, undefined, form)).status).toBe(415)
  })
})
