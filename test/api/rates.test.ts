// The rates that an installation has by itself, and that every dear operation is counted (contract 1.2).
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import { ApiConfig, limitsIn } from '../../api/config.ts'
import { costs, rateLimits, type Cost, type RateLimited } from '../../api/kernel/rate-limit.ts'
import { startApi, type Api } from '../support/api.ts'

const key = `k1:${Buffer.alloc(32, 1).toString('base64')}`
const { rates = {} } = limitsIn(ApiConfig.parse({ PAYLOAD_KEYS: key, MASTER_KEYS: key }))

afterEach(() => void jest.useRealTimers())

const refusalOf = (call: Promise<void>): Promise<RateLimited | null> =>
  call.then(
    () => null,
    (error: RateLimited) => error,
  )

describe.each(costs)('by itself %s', cost => {
  const most = rates[cost] ?? 0

  test('has a rate, after which Retry-After tells when a call passes again', async () => {
    jest.useFakeTimers()
    const consume = rateLimits(rates)
    expect(most).toBeGreaterThan(0)
    for (let call = 0; call < most; call += 1) await consume(cost, 'eager')
    jest.advanceTimersByTime(20_500)
    const refused = await refusalOf(consume(cost, 'eager'))
    expect(refused).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 40 })
    expect(await refusalOf(consume(cost, 'calm'))).toBeNull()
    jest.advanceTimersByTime(39_000)
    expect(await refusalOf(consume(cost, 'eager'))).toMatchObject({ retryAfterSeconds: 1 })
    jest.advanceTimersByTime(1000)
    expect(await refusalOf(consume(cost, 'eager'))).toBeNull()
  })
})

describe('every dear operation is counted', () => {
  let api: Api
  beforeAll(async () => {
    const once = Object.fromEntries(costs.map(cost => [cost, 1])) as Record<Cost, number>
    api = await startApi({ deps: { limits: { rates: once, trustedProxies: 1 } } })
  })
  afterAll(() => api.stop())

  const dear = Object.entries(operations).filter(([, { cost }]) => cost !== undefined)

  test.each(dear.map(([operationId], index) => [operationId, index] as const))('%s', async (operationId, index) => {
    const { method, path, needs } = operations[operationId] ?? {}
    const token = needs === 'NOTHING' ? undefined : await api.issuer.userToken(`user-${index}`)
    const call = async () => {
      const { status, headers } = await fetch(api.url + String(path).replace(/:\w+/g, 'none'), {
        method: String(method),
        headers: { 'X-Forwarded-For': `192.0.2.${index}`, ...(token && { Authorization: `Bearer ${token}` }) },
      })
      return { status, retryAfter: headers.get('Retry-After') }
    }
    expect((await call()).status).not.toBe(429)
    expect(await call()).toEqual({ status: 429, retryAfter: expect.stringMatching(/^[1-9]\d?$/) })
  })

  test('and there are some of each kind', () => {
    expect(new Set(dear.map(([, { cost }]) => cost))).toEqual(new Set(costs))
  })
})
