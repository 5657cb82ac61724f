// Mails over days, on a server that skips time: pauses, a mail server that is away, and the end after 72 hours.
import { randomUUID } from 'node:crypto'
import { afterEach, expect, test } from '@jest/globals'
import type { WorkflowHandle } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { Activities } from '../../activities/index.ts'
import { queueMails } from '../../storage/mails.ts'
import { Mail } from '../../storage/rows/mail.ts'
import type { sendMails } from '../../workflows/send-mails.ts'
import { sendMailsRun, startOptions } from '../../workflows/starts.ts'
import { openFixture, set, type Fixture } from '../activities/fixture.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { report } from '../faults/reckoning.ts'
import { startMailServer, type MailServer } from '../support/mail-server.ts'
import { historyToText } from './history-json.ts'
import { payloadsIn, textOf } from './payloads.ts'
import { until, type Rig } from './rig.ts'
import { startTimeSkipping, type TimeSkipping } from './time-skipping.ts'
import { useRig } from './use-rig.ts'

const hourMs = 3_600_000

let env: TimeSkipping['env']
let fixture: Fixture | undefined
let server: MailServer | undefined

// Its worker stops before what its activities work with.
const { start } = useRig(async () => {
  const skipping = await startTimeSkipping()
  ;({ env } = skipping)
  return skipping
})
afterEach(async () => {
  await fixture?.orm.close()
  await server?.stop()
  fixture = server = undefined
})

/** Time moves only where a test says so, and a test says so only when the run waits for nothing but its timer. */
const timerOf = async (handle: WorkflowHandle) =>
  (await handle.fetchHistory()).events?.at(-1)?.timerStartedEventAttributes
const waits = (handle: WorkflowHandle) => until(async () => Boolean(await timerOf(handle)))
const pauseOf = async (handle: WorkflowHandle): Promise<number> =>
  Number((await timerOf(handle))?.startToFireTimeout?.seconds ?? 0) / 60

const send = ({ client, taskQueue }: Rig, groupId: string): Promise<WorkflowHandle<typeof sendMails>> =>
  client.workflow.start<typeof sendMails>('sendMails', {
    ...startOptions(sendMailsRun(groupId), taskQueue),
    args: [groupId],
  })

const now = async () => new Date(await env.currentTimeMs())

/** Activities of a group of one mail that was queued now; the mail server is away unless `sent` says otherwise. */
const oneMail = async (sent: () => boolean = () => false): Promise<Partial<Activities>> => {
  const queuedDate = (await now()).toISOString()
  return {
    openMails: async () => ({ queuedDate, gathering: false }),
    sendMails: async () => ({ last: null, over: true }),
    settleMails: async () => (sent() ? { queued: 0, sent: 1, failed: 0 } : { queued: 1, sent: 0, failed: 0 }),
    giveUpMails: async () => ({ queued: 0, sent: 0, failed: 1 }),
  }
}

test('the pauses grow from a minute to an hour, and after 72 hours the mail is given up', async () => {
  const rig = await start(await oneMail())
  const handle = await send(rig, randomUUID())
  const pauses: number[] = []
  const isOver = () => rig.of('giveUpMails').length > 0
  const pausesAgain = async () => rig.of('settleMails').length > pauses.length && Boolean(await timerOf(handle))
  while (!isOver() && pauses.length < 200) {
    await until(async () => isOver() || (await pausesAgain()))
    if (isOver()) break
    const pause = await pauseOf(handle)
    pauses.push(pause)
    await env.sleep(`${Math.ceil(pause * 60)} seconds`)
  }
  expect(await handle.result()).toEqual({ queued: 0, sent: 0, failed: 1 })
  expect(pauses.slice(0, 8).map(Math.round)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  expect(Math.max(...pauses)).toBe(60)
  expect(pauses.reduce((sum, pause) => sum + pause, 0) / 60).toBeCloseTo(72, 0)
  expect(rig.of('giveUpMails')).toHaveLength(1)
  expect((await handle.fetchHistory()).events?.length).toBeLessThan(2000)
}, 300_000)

test('a run that begins after 72 hours makes one attempt', async () => {
  const queuedDate = new Date((await now()).getTime() - 73 * hourMs).toISOString()
  const rig = await start({ ...(await oneMail()), openMails: async () => ({ queuedDate, gathering: false }) })
  expect(await (await send(rig, randomUUID())).result()).toEqual({ queued: 0, sent: 0, failed: 1 })
  expect(rig.of('sendMails')).toHaveLength(1)
})

test('a pass goes on behind the last mail of a chunk until none is left', async () => {
  const answers = [
    { last: 'a', over: false },
    { last: 'b', over: false },
    { last: null, over: false },
  ]
  const mails = await oneMail(() => true)
  const rig = await start({ ...mails, sendMails: async () => answers.shift() ?? { last: null, over: true } })
  expect(await (await send(rig, randomUUID())).result()).toEqual({ queued: 0, sent: 1, failed: 0 })
  expect(rig.of('sendMails').map(({ input }) => input.after)).toEqual([null, 'a', 'b'])
})

const busyEnd = { last: null, over: true, busy: true } as const

/** The pauses of a run so far, in seconds. */
const pausesIn = async (handle: WorkflowHandle): Promise<number[]> =>
  ((await handle.fetchHistory()).events ?? [])
    .map(event => event.timerStartedEventAttributes?.startToFireTimeout)
    .filter(timeout => timeout != null)
    .map(({ seconds }) => Number(seconds))

const mostPauses = [3, 6, 12, 23, 45, 90]

/** Moves time past so many pauses, each when the run waits for nothing else. */
const passPauses = async (handle: WorkflowHandle, count: number): Promise<void> => {
  for (let passed = 0; passed < count; passed += 1) {
    await until(async () => (await pausesIn(handle)).length > passed && Boolean(await timerOf(handle)))
    await env.sleep(`${((await pausesIn(handle)).at(-1) ?? 0) + 1} seconds`)
  }
}

test('a busy worker is asked again within seconds, and that is no pass that came to nothing', async () => {
  let busy = 4
  const sent = { last: null, over: false }
  const rig = await start({ ...(await oneMail(() => true)), sendMails: async () => (--busy >= 0 ? busyEnd : sent) })
  const handle = await send(rig, randomUUID())
  await passPauses(handle, 4)
  expect(await handle.result()).toEqual({ queued: 0, sent: 1, failed: 0 })
  const pauses = await pausesIn(handle)
  expect(pauses).toHaveLength(4)
  for (const [index, pause] of pauses.entries()) expect(pause).toBeLessThanOrEqual(mostPauses[index] ?? 0)
})

test('a worker that stays busy is left alone after some tries, as a server that is away', async () => {
  let asked = 0
  const tries = mostPauses.length + 1
  const sent = { last: null, over: false }
  const rig = await start({
    ...(await oneMail(() => asked > tries)),
    sendMails: async () => (++asked <= tries ? busyEnd : sent),
  })
  const handle = await send(rig, randomUUID())
  await passPauses(handle, tries)
  expect(await handle.result()).toEqual({ queued: 0, sent: 1, failed: 0 })
  expect((await pausesIn(handle)).slice(mostPauses.length)).toEqual([60])
})

test('a pass that fails whole is followed by another one', async () => {
  let failing = true
  const rig = await start({
    ...(await oneMail(() => !failing)),
    sendMails: async () => {
      if (failing) throw ApplicationFailure.nonRetryable('a mail that cannot be made', 'INTERNAL_ERROR')
      return { last: null, over: false }
    },
  })
  const handle = await send(rig, randomUUID())
  await waits(handle)
  failing = false
  await env.sleep('1 minute')
  expect(await handle.result()).toEqual({ queued: 0, sent: 1, failed: 0 })
})

test('a mail of a batch waits until the batch is through, ten minutes at most', async () => {
  let looks = 0
  const mails = await oneMail(() => true)
  const queuedDate = (await now()).toISOString()
  const through = await start({
    ...mails,
    openMails: async () => ({ queuedDate, gathering: ++looks < 3 }),
    sendMails: async () => ({ last: null, over: false }),
  })
  const handle = await send(through, randomUUID())
  await waits(handle)
  expect(through.of('sendMails')).toHaveLength(0)
  await env.sleep('2 seconds')
  await until(() => through.of('openMails').length === 2)
  await waits(handle)
  await env.sleep('5 seconds')
  await handle.result()
  expect(through.of('openMails')).toHaveLength(3)

  const endless = await start({
    ...mails,
    openMails: async ({ patient }) => ({ queuedDate, gathering: patient }),
    sendMails: async () => ({ last: null, over: false }),
  })
  const late = await send(endless, randomUUID())
  for (let look = 1; look <= 8; look++) {
    await until(() => endless.of('openMails').length === look)
    await waits(late)
    await env.sleep(`${Math.ceil((await pauseOf(late)) * 60)} seconds`)
  }
  await late.result()
  expect(endless.of('openMails').at(-1)?.input.patient).toBe(false)
  expect(endless.of('sendMails')).toHaveLength(1)
})

/** Real records and a real mail server under workflows whose time is skipped. */
const real = async (agoMs = 0) => {
  const port = await freePort()
  let clock = await now()
  fixture = await openFixture({ clock: () => clock })
  const { orm, activities, services } = fixture
  const members = { enabled: 'true', host: '127.0.0.1', from: 'ca@example.org', port: String(port) }
  for (const [name, value] of Object.entries(members)) await set(fixture, `mail.${name}`, value)
  const to = Array.from({ length: 60 }, (_, index) => `secret-user-${index}@example.org`)
  const facts = { count: 1, items: [{ id: randomUUID(), subject: 'CN=secret-name' }] }
  const mails = {
    kind: 'VERIFICATION',
    to,
    facts,
    secret: { token: 'very-secret-token', seal: services.seal },
  } as const
  const queued = new Date(clock.getTime() - agoMs)
  const groupId = (await orm.em.fork().transactional(em => queueMails(em, mails, { now: queued }))) ?? ''
  const rig = await start(activities)
  const handle = await send(rig, groupId)
  /** Lets each pause pass, so many or until the run ends. */
  const skip = async (passes: number): Promise<void> => {
    for (let pass = 1; pass <= passes; pass++) {
      const isOver = () => rig.of('giveUpMails').length > 0
      await until(async () => isOver() || (rig.of('sendMails').length >= pass && Boolean(await timerOf(handle))))
      if (isOver()) return
      await env.sleep((await pauseOf(handle)) * 60_000 + 1000)
      clock = await now()
    }
  }
  return { port, to, groupId, handle, skip, rows: () => orm.em.fork().find(Mail, {}) }
}

test('a mail server that is away for an hour gets each mail once, and the history holds no address and no token', async () => {
  const { port, to, groupId, handle, skip, rows } = await real()
  const began = (await now()).getTime()
  await skip(6)
  expect((await now()).getTime() - began).toBeGreaterThan(hourMs)
  await waits(handle)
  expect((await rows()).every(({ status }) => status === 'QUEUED')).toBe(true)
  server = await startMailServer({}, port)
  await env.sleep('1 hour')
  expect(await handle.result()).toEqual({ queued: 0, sent: 60, failed: 0 })
  report({ fault: 'mail server away for an hour', items: to.length, kills: 1 }, [
    { what: 'mail', expected: to, seen: server.mails.map(mail => mail.to) },
  ])
  expect(server.mails.every(({ mail }) => mail.text?.includes('?token=very-secret-token\n'))).toBe(true)
  expect((await rows()).every(({ sealedToken }) => sealedToken === null)).toBe(true)
  const history = await handle.fetchHistory()
  const texts = [historyToText(history), ...(await Promise.all(payloadsIn(history).map(textOf)))]
  expect(texts.some(text => text.includes(groupId))).toBe(true)
  expect(texts.filter(text => /@example\.org|very-secret|secret-name/.test(text))).toEqual([])
}, 180_000)

test('mails that no server took within 72 hours are recorded as failed, with the reason', async () => {
  const { handle, skip, rows } = await real(72 * hourMs - 600_000)
  await waits(handle)
  expect((await rows()).every(({ status }) => status === 'QUEUED')).toBe(true)
  await skip(10)
  expect(await handle.result()).toEqual({ queued: 0, sent: 0, failed: 60 })
  // Also those of the chunk that no attempt came to.
  const failureReason = 'The mail server refused the connection (ECONNREFUSED).'
  const ended = { status: 'FAILED', sealedToken: null, failureReason }
  const all = await rows()
  expect(all).toHaveLength(60)
  for (const row of all) expect(row).toMatchObject(ended)
}, 180_000)
