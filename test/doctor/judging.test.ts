// What the doctor makes of what it reads, where the real thing would take hours or another clock.
import { expect, test } from '@jest/globals'
import { examine, ok, failed, reasonOf, warning, type Check } from '../../doctor/check.ts'
import { lifetimeFinding } from '../../doctor/checks/authorities.ts'
import { skewOf } from '../../doctor/checks/clocks.ts'
import { scheduleFinding } from '../../doctor/checks/schedules.ts'
import { workerFinding } from '../../doctor/checks/temporal.ts'

const now = new Date('2031-01-31T10:00:00.000Z')
const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000)

test.each([
  ['there now', [20], 'OK'],
  ['gone for three minutes', [180], 'FAILED'],
  ['gone, but another one is there', [400, 30], 'OK'],
  ['not there', [], 'FAILED'],
])('a worker that is %s', (_, seconds, verdict) => {
  const pollers = seconds.map(count => ({ identity: `${count}@host`, build: '', lastAccess: ago(count) }))
  expect(workerFinding(pollers, 'certwright', now).verdict).toBe(verdict)
})

test.each([
  ['a run in time', { recentActions: [{ takenAt: ago(40 * 60) }], createdAt: ago(1e6) }, false, 'certwright', 'OK'],
  [
    'no run for long',
    { recentActions: [{ takenAt: ago(50 * 60) }], createdAt: ago(1e6) },
    false,
    'certwright',
    'FAILED',
  ],
  ['no run at all', { recentActions: [], createdAt: ago(50 * 60) }, false, 'certwright', 'FAILED'],
  ['none yet', { recentActions: [], createdAt: ago(60) }, false, 'certwright', 'OK'],
  ['a pause', { recentActions: [], createdAt: ago(60) }, true, 'certwright', 'WARNING'],
  ['another task queue', { recentActions: [], createdAt: ago(60) }, false, 'old', 'FAILED'],
])('a schedule with %s', (...[, info, paused, taskQueue, verdict]) => {
  const told = { scheduleId: 'expiry', info, state: { paused }, action: { type: 'startWorkflow', taskQueue } }
  const place = { everyMinutes: 15, taskQueue: 'certwright', now }
  expect(scheduleFinding(told as never, place).verdict).toBe(verdict)
})

const inDays = (days: number): Date => ago(-days * 86_400)
test.each<[number, Parameters<typeof lifetimeFinding>[0][number]['longest'], string]>([
  [-0.001, null, 'FAILED'],
  [89.9, null, 'WARNING'],
  [90.1, null, 'OK'],
  [364, 'ONE_YEAR', 'WARNING'],
  [366, 'ONE_YEAR', 'OK'],
])('a CA that ends in %d days and may issue for %s: %s', (days, longest, verdict) => {
  const sound = { name: 'CN=Sound', end: inDays(4000), longest: null }
  const finding = lifetimeFinding([sound, { name: 'CN=Short', end: inDays(days), longest }], now)
  expect(finding.verdict).toBe(verdict)
  expect(finding.text).toContain('CN=Short')
})

test('an expired CA is graver than one that ends soon', () => {
  const [old, soon] = [
    { name: 'CN=Old', end: inDays(-1), longest: null },
    { name: 'CN=Soon', end: inDays(5), longest: null },
  ]
  const { verdict, text } = lifetimeFinding([soon, old], now)
  expect([verdict, text]).toEqual(['FAILED', expect.stringMatching(/^CN=Old .*; CN=Soon /)])
})

test.each([
  [0, 5, 10, 0],
  [0, 11, 10, 1],
  [100, 40, 120, -60],
])('sent at %i, said %i, received at %i: %i ms apart', (...[sent, said, received, apart]) =>
  expect(skewOf({ sent, said, received })).toBe(apart),
)

const check = (name: string, look: Check['look'], after?: string): Check => ({
  name,
  look,
  advice: 'Look.',
  ...(after !== undefined && { after }),
})

test('checks are made side by side, each within its time, and not where what they need is broken', async () => {
  const hang = () => new Promise<never>(() => {})
  const results = await examine(
    [
      check('one', hang),
      check('two', async () => failed('broken', 'Mend it.')),
      check('three', async () => ok('never looked at'), 'two'),
      check('four', async () => ok('never looked at'), 'three'),
      check('five', async () => warning('so so', 'Mend it soon.')),
      check('six', async () => ok('fine'), 'five'),
      check('seven', () => Promise.reject(new Error('no', { cause: new Error('because') }))),
    ],
    0.2,
  )
  expect(results.map(({ check: name, verdict, text }) => [name, verdict, text])).toEqual([
    ['one', 'FAILED', 'no answer in 0.2 s'],
    ['two', 'FAILED', 'broken'],
    ['three', 'SKIPPED', 'not looked at: see two'],
    ['four', 'SKIPPED', 'not looked at: see three'],
    ['five', 'WARNING', 'so so'],
    ['six', 'OK', 'fine'],
    ['seven', 'FAILED', 'no (because)'],
  ])
  expect(results[0]?.advice).toBe('Look.')
})

test('an error of several addresses tells each', () => {
  expect(reasonOf(new AggregateError([new Error('a'), new Error('b')]))).toBe('a; b')
})
