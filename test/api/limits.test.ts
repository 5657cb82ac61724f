// Nobody may take the whole machine: dear calls are counted by caller, and slow work has a line of its own (contract 1.2).
import { setImmediate } from 'node:timers/promises'
import { afterAll, afterEach, expect, test } from '@jest/globals'
import { networkOf } from '../../domain/network.ts'
import { workPool } from '../../api/kernel/work-pool.ts'
import type { Limits } from '../../api/kernel/dependencies.ts'
import { startApi, type Api, type ApiCaller } from '../support/api.ts'
import { refusalOf } from '../support/issuing.ts'

const started: Api[] = []
const start = async (limits: Limits): Promise<Api> => {
  const api = await startApi({
    databaseName: `limits_${process.env['JEST_WORKER_ID']}_${started.length}`,
    deps: { limits },
  })
  started.push(api)
  return api
}
const stopAll = async (): Promise<void> => {
  for (const api of started.splice(0)) await api.stop()
}
afterEach(stopAll)
afterAll(stopAll)

const makeKey = (caller: ApiCaller, keyGenParamsDto: object = { cryptoAlgorithm: 'EC' }) =>
  caller.post('/api/v1/pkcs10', { subject: { commonName: 'web-01' }, keyGenParamsDto })
const whoAmI = (caller: ApiCaller) => caller.get('/api/v1/authenticated-principal')
const statuses = (caller: ApiCaller, headers: Record<string, string> = {}) =>
  caller.get('/api/v1/public/enum/valid-for-values', { headers }).then(({ status }) => status)

test('who makes keys too often is told when to come back; others, and other calls, are served', async () => {
  const api = await start({ rates: { KEYS: 2 } })
  const [eager, calm] = [await api.user(), await api.user()]
  expect([(await makeKey(eager)).status, (await makeKey(eager)).status]).toEqual([200, 200])
  const refused = await makeKey(eager)
  expect(refusalOf(refused)).toEqual([429, 'RATE_LIMITED'])
  const seconds = Number(refused.headers.get('Retry-After'))
  expect([Number.isInteger(seconds), seconds >= 1, seconds <= 60]).toEqual([true, true, true])
  expect([(await makeKey(calm)).status, (await whoAmI(eager)).status]).toEqual([200, 200])
})

test('a call that is refused for its shape counts as well, and one without a token counts for nobody', async () => {
  const api = await start({ rates: { KEYS: 1 } })
  const user = await api.user()
  expect((await api.anonymous.post('/api/v1/pkcs10', {})).status).toBe(401)
  expect((await user.post('/api/v1/pkcs10', {})).status).toBe(400)
  expect((await makeKey(user)).status).toBe(429)
})

test('what anybody may call is counted by address, which nobody can make up', async () => {
  const api = await start({ rates: { PUBLIC: 2 } })
  const made = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map(address =>
    statuses(api.anonymous, { 'X-Forwarded-For': address }),
  )
  expect((await Promise.all(made)).filter(status => status === 429)).toHaveLength(1)
})

test('behind a proxy the address is the one that the proxy names, not what its client says', async () => {
  const api = await start({ rates: { PUBLIC: 1 }, trustedProxies: 1 })
  const from = (header: string) => statuses(api.anonymous, { 'X-Forwarded-For': header })
  expect(await from('192.0.2.1')).toBe(200)
  expect(await from('192.0.2.2')).toBe(200)
  expect(await from('203.0.113.9, 192.0.2.1')).toBe(429)
  expect(await from('2001:db8:0:1::1')).toBe(200)
  expect(await from('2001:db8:0:1:ffff::2')).toBe(429)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
])('%s is of %s', (address, network) => expect(networkOf(address)).toBe(network))

test('no more keys are made at once than there is room for; the others are refused, and later served', async () => {
  const api = await start({ keyWork: { atOnce: 1, waiting: 2 } })
  const user = await api.user()
  const rsa = { cryptoAlgorithm: 'RSA', keySize: 3072 }
  const replies = await Promise.all(Array.from({ length: 12 }, () => makeKey(user, rsa)))
  const refused = replies.filter(({ status }) => status === 429)
  expect(replies.filter(({ status }) => status === 200).length + refused.length).toBe(12)
  expect(refused.length).toBeGreaterThan(0)
  expect(refused[0]?.headers.get('Retry-After')).toMatch(/^\d+$/)
  expect((await makeKey(user, rsa)).status).toBe(200)
})

test('tokens are checked while many long keys are made', async () => {
  const api = await start({})
  const [maker, calm] = [await api.user(), await api.user()]
  await whoAmI(calm)
  const keysMade = { count: 0 }
  const keys = Array.from({ length: 12 }, () =>
    makeKey(maker, { cryptoAlgorithm: 'RSA', keySize: 4096 }).finally(() => (keysMade.count += 1)),
  )
  while (keysMade.count === 0) expect((await whoAmI(calm)).status).toBe(200)
  const before = keysMade.count
  expect((await whoAmI(calm)).status).toBe(200)
  // Four threads at work on twelve keys would let a token in after nine of them at the earliest.
  expect(before).toBeLessThan(9)
  expect((await Promise.all(keys)).map(({ status }) => status)).toEqual(keys.map(() => 200))
})

/** Work that ends when it is told to, and how much of it has begun. */
const held = () => {
  const ends: (() => void)[] = []
  const work = () => new Promise<string>(resolve => ends.push(() => resolve('done')))
  return { work, ends }
}

test('the line is one of its own: so many at once, so many wait, and of those one caller has half', async () => {
  const pool = workPool({ atOnce: 2, waiting: 4 })
  const { work, ends } = held()
  const mine = Array.from({ length: 4 }, () => pool('me', work))
  await setImmediate()
  expect(ends).toHaveLength(2)
  await expect(pool('me', work)).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 5 })
  const others = Array.from({ length: 2 }, () => pool('other', work))
  await expect(pool('a third', work)).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  for (let ended = 0; ended < 6; ended += 1) {
    await setImmediate()
    ends[ended]?.()
  }
  expect(await Promise.all([...mine, ...others])).toEqual(Array.from({ length: 6 }, () => 'done'))
  expect(ends).toHaveLength(6)
})

test('work that fails leaves its place', async () => {
  const pool = workPool({ atOnce: 1, waiting: 0 })
  const fail = () => Promise.reject(new Error('no'))
  await expect(pool('me', fail)).rejects.toThrow('no')
  await expect(pool('me', () => Promise.resolve(1))).resolves.toBe(1)
})
