// Nobody stops the service: with the largest input of every operation, and with hostile ones, others are served meanwhile.
// The judge is the longest stretch for which this thread worked without turning to anybody else (stretches.ts). On a calm
// reference machine it is 250 ms; on any other, and on a busy one, as many times a yardstick of the same thread and clock.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import { createLog } from '../../api/log.ts'
import { startExampleInstallation, type ExampleInstallation } from '../support/example-installation.ts'
import { useCmpSigner } from '../support/example-cmp.ts'
import { enableScep } from '../support/example-signer.ts'
import { asReference, longestStretch, stretches, unitNow } from '../support/stretches.ts'
import { callsTo, largest } from '../support/watchdog.ts'
import type { Order, Report } from '../support/watchdog-caller.ts'

/** How long anything may keep the thread of a calm reference machine. */
const limitMs = 250

let installation: ExampleInstallation
let caller: Worker
/** Rejects when the thread ends by an error: nobody waits for what it will never say. */
let broken: Promise<never>
let token: string
let clientToken: string
let unit: number
/** What the API logs of failures that are nobody's fault but its own. */
const failures: string[] = []
const longest: { ms: number; what: string }[] = []

const answerOf = async <T>(message: unknown): Promise<T> => {
  const answered = Promise.race([once(caller, 'message'), broken])
  // A thread has no origin to name.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  caller.postMessage(message)
  return ((await answered) as [T])[0]
}

interface Asked {
  readonly operation: string
  readonly index: number
  readonly what: string
}

/** Has a call made and answers how long it kept this thread; every answer is judged, not only that of the best measurement. */
const callMeasured = async ({ operation, index, what }: Asked, beside = () => {}): Promise<number> => {
  const bearer = operations[operation]?.onlyFor === 'API_CLIENT' ? clientToken : token
  const order: Order = { operation, index, token: bearer, url: installation.service.url }
  await answerOf<'ready'>(order)
  const stop = stretches()
  setImmediate(beside)
  const { status, body, asked } = await answerOf<Report>('begin')
  const ms = stop()
  const told = [operation, what, status, body, ...failures.splice(0)]
  expect([...told, status > 0 && status !== 500, asked > 0]).toEqual([...told, true, true])
  return ms
}

const expectServed = async (asked: Asked): Promise<void> => {
  const { operation, what } = asked
  const ms = await longestStretch(() => callMeasured(asked), limitMs, unit)
  longest.push({ ms, what: `${operation} with ${what}` })
  expect([operation, what, ms, ms < limitMs]).toEqual([operation, what, ms, true])
}

beforeAll(async () => {
  installation = await startExampleInstallation({
    log: createLog('error', { write: line => void failures.push(line) }),
  })
  token = await installation.service.issuer.token({ claims: { sub: installation.admin.subject } })
  await enableScep(installation)
  await useCmpSigner(installation)
  clientToken = await installation.service.issuer.clientToken(installation.client.clientId)
  caller = new Worker(new URL('../support/watchdog-caller.ts', import.meta.url))
  broken = once(caller, 'error').then(([error]: unknown[]) => {
    throw error
  })
  broken.catch(() => undefined)
  unit = unitNow()
}, 120_000)
afterAll(async () => {
  const ten = longest.toSorted((one, other) => other.ms - one.ms).slice(0, 10)
  const told = ten.map(({ ms, what }) => `${ms.toFixed(0)} ms ${what}`).join('\n  ')
  process.stdout.write(`longest stretches, as the reference machine would need them:\n  ${told}\n`)
  await caller.terminate()
  await installation.stop()
})

test('every operation has a row, and every row an operation', () => {
  expect(Object.keys(largest).toSorted()).toEqual(Object.keys(operations).toSorted())
})

const keepBusy = (ms: number): void => {
  const before = process.threadCpuUsage()
  while (process.threadCpuUsage(before).user < ms * 1000);
}

/** Milliseconds of this thread that are so many of the reference machine. */
const ofReference = (ms: number): number => ms / asReference(1, unitNow())

test('work that keeps the thread during a call is seen, however often it is measured', async () => {
  const asked = { operation: 'getRealms', index: 0, what: 'work beside it' }
  const burdened = () => {
    const ms = ofReference(3 * limitMs)
    return callMeasured(asked, () => keepBusy(ms))
  }
  expect(await longestStretch(burdened, limitMs, unit)).toBeGreaterThan(limitMs)
})

test('a stretch that was only disturbed is measured again, and the best measurement counts', async () => {
  const works = [3 * limitMs, 2 * limitMs, limitMs / 5].map(ms => ofReference(ms))
  let made = 0
  const work = () => Promise.resolve(works[made++ % works.length] ?? 0)
  expect(await longestStretch(work, limitMs, unit)).toBeLessThan(limitMs)
  expect(made).toBe(3)
})

test.each(Object.entries(operations))(
  '%s with its largest input keeps nobody waiting',
  async (name, operation) => {
    await expectServed({ operation: name, index: 0, what: callsTo(name, operation)[0].what })
  },
  300_000,
)

test.each(Object.entries(operations))(
  '%s with hostile input keeps nobody waiting',
  async (name, operation) => {
    for (const [index, { what }] of callsTo(name, operation).entries())
      if (index > 0) await expectServed({ operation: name, index, what })
  },
  600_000,
)
