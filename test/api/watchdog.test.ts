// Nobody stops the service: with the largest input of every operation, and with hostile ones, others are served meanwhile.
// The judge is the longest stretch for which this thread worked without turning to anybody else, in its own processor time:
// that is what a caller of /health/live waits for, and it does not depend on how busy the machine is.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { operations } from '../../api/app.ts'
import { startExampleInstallation, type ExampleInstallation } from '../support/example-installation.ts'
import { calmCall, hostileCalls, largest, largestCall, type Wire } from '../support/watchdog.ts'
import type { Order, Report } from '../support/watchdog-caller.ts'

/** How much longer than calm calls anything may keep the thread. */
const allowanceMs = 250

let installation: ExampleInstallation
let caller: Worker
let token: string
let calm = 0
let worst = { name: '', stretch: 0 }

const answerOf = async <T>(message: unknown): Promise<T> => {
  const answered = once(caller, 'message')
  // A thread has no origin to name.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  caller.postMessage(message)
  return ((await answered) as [T])[0]
}

/** Notes the longest stretch of work between two turns of the event loop, in milliseconds of processor time. */
const stretches = () => {
  let longest = 0
  let before = process.threadCpuUsage()
  const turn = (): void => {
    const { user, system } = process.threadCpuUsage(before)
    before = process.threadCpuUsage()
    longest = Math.max(longest, (user + system) / 1000)
  }
  const timer = setInterval(turn, 1)
  return (): number => {
    clearInterval(timer)
    turn()
    return longest
  }
}

const measured = async (call: Wire): Promise<Report & { stretch: number }> => {
  const order: Order = { ...call, token, url: installation.service.url }
  await answerOf<'ready'>(order)
  const stop = stretches()
  const report = await answerOf<Report>('begin')
  return { ...report, stretch: stop() }
}

const expectServed = async (name: string, call: Wire): Promise<void> => {
  const report = await measured(call)
  if (report.stretch > worst.stretch) worst = { name: `${name} with ${call.what}`, stretch: report.stretch }
  const told = [name, call.what, report.body]
  expect([...told, report.status > 0 && report.status !== 500]).toEqual([...told, true])
  expect([...told, report.stretch, report.stretch < calm + allowanceMs]).toEqual([...told, report.stretch, true])
  expect([...told, report.asked > 0]).toEqual([...told, true])
}

beforeAll(async () => {
  installation = await startExampleInstallation()
  token = await installation.service.issuer.token({ claims: { sub: installation.admin.subject } })
  caller = new Worker(new URL('../support/watchdog-caller.ts', import.meta.url))
  for (const operation of Object.values(operations))
    if (operation.method === 'GET') calm = Math.max(calm, (await measured(calmCall(operation))).stretch)
}, 120_000)
afterAll(async () => {
  process.stdout.write(`calm ${calm.toFixed(0)} ms, longest ${worst.stretch.toFixed(0)} ms: ${worst.name}\n`)
  await caller.terminate()
  await installation.stop()
})

test('every operation has a row, and every row an operation', () => {
  expect(Object.keys(largest).toSorted()).toEqual(Object.keys(operations).toSorted())
})

test('work that keeps the thread is seen', async () => {
  const stop = stretches()
  const { user } = process.threadCpuUsage()
  while (process.threadCpuUsage().user - user < 300_000) Math.random()
  await new Promise(resolve => void setTimeout(resolve, 5))
  expect(stop()).toBeGreaterThan(250)
})

test.each(Object.entries(operations))(
  '%s with its largest input keeps nobody waiting',
  async (name, operation) => {
    await expectServed(name, largestCall(operation, largest[name] ?? {}))
  },
  120_000,
)

test.each(Object.entries(operations))(
  '%s with hostile input keeps nobody waiting',
  async (name, operation) => {
    for (const call of hostileCalls(operation)) await expectServed(name, call)
  },
  300_000,
)
