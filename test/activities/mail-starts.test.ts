// Groups of mails on their way to a run: which go together, and what a worker that dies on the way leaves to others.
import { beforeEach, expect, test } from '@jest/globals'
import { MailStarts } from '../../activities/mail/starting.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { searchAttributes } from '../../workflows/messages.ts'
import type { Start } from '../../workflows/starts.ts'
import { makeRealm } from '../support/records.ts'
import { run, surroundings } from './fixture.ts'
import { facts, fixture, queue, realm, sendOnce, serve, server, settle, useMailRig } from './mail-rig.ts'

useMailRig()

let starts: MailStarts
const warnings: string[] = []

beforeEach(() => {
  warnings.length = 0
  starts = startsOf(fixture.services.runs)
})

const startsOf = (runs: ConstructorParameters<typeof MailStarts>[0]['runs']): MailStarts =>
  new MailStarts({ orm: fixture.orm, runs, warn: text => void warnings.push(text) })

const longAgo = () => new Date(Date.now() - 60_000)
const queueMany = (count: number, now = new Date()) => Promise.all(Array.from({ length: count }, () => queue({}, now)))
const told = (ids: readonly string[], realmId: string | null = realm.id) => ids.map(groupId => ({ groupId, realmId }))
const groupsStarted = () => fixture.started.map(({ id }) => id.replace('mail/', ''))
const carrierOf = async (id: string) => (await fixture.em().findOneOrFail(MailGroup, id)).carriedBy
const reconcile = () => run(fixture.activities.startMissingRuns, undefined)
const messageIds = () => server.mails.map(({ mail }) => mail.messageId ?? '').toSorted()

/** What the runs that were started do. */
const runAll = async (): Promise<void> => {
  for (const groupId of groupsStarted()) await sendOnce(groupId)
}
const allSent = async (ids: readonly string[]): Promise<void> => {
  const rows = await fixture.em().find(Mail, { groupId: { $in: [...ids] } })
  expect(rows.map(({ status }) => status)).toEqual(ids.map(() => 'SENT'))
  expect(messageIds()).toEqual(rows.map(({ id }) => `<${id}@localhost>`).toSorted())
  expect(await fixture.em().count(MailGroup, { closedDate: null })).toBe(0)
}

test('a lone group goes at once, and those that come behind it go together in one run', async () => {
  await serve()
  const [lone = '', first = '', second = '', third = ''] = await queueMany(4)
  starts.add(told([lone]))
  expect(groupsStarted()).toEqual([lone])
  for (const id of [first, second, third]) starts.add(told([id]))
  expect(groupsStarted()).toEqual([lone])
  await starts.end()
  expect(groupsStarted()).toEqual([lone, first])
  expect(await Promise.all([lone, first, second, third].map(carrierOf))).toEqual([null, first, first, first])
  await runAll()
  expect(await settle(first)).toEqual({ queued: 0, sent: 3, failed: 0 })
  await allSent([lone, first, second, third])
})

test('the pause after a start ends by itself', async () => {
  const [lone = '', late = ''] = await queueMany(2)
  starts.add(told([lone]))
  starts.add(told([late]))
  while (fixture.started.length < 2) await new Promise(resolve => void setTimeout(resolve, 50))
  expect(groupsStarted()).toEqual([lone, late])
  await starts.end()
})

test('a run is of one realm, says how many events it tells of, and of many groups takes a part', async () => {
  const other = await makeRealm(fixture.em(), { name: 'Other' })
  const groups = await queueMany(52)
  const others = await Promise.all([queue({ realmId: other.id }), queue({ realmId: other.id })])
  starts.add([...told(groups), ...told(others, other.id)])
  await starts.end()
  const realmOf = ({ attributes }: Start) => attributes.find(({ key }) => key === searchAttributes.realmId)?.value
  const seen = fixture.started.map(
    start => `${String(realmOf(start))}: ${start.summary.replace(/[0-9a-f-]{36}/, 'id')}`,
  )
  const expected = [
    `${realm.id}: send the mails id and of 49 more`,
    `${realm.id}: send the mails id and of 1 more`,
    `${other.id}: send the mails id and of 1 more`,
  ]
  expect(seen.toSorted()).toEqual(expected.toSorted())
  expect(await fixture.em().count(MailGroup, { carriedBy: groups[0] ?? '' })).toBe(50)
})

test('a group that gathers has a run of its own at once', async () => {
  const [lone = '', batch = '', late = ''] = await queueMany(3)
  starts.add(told([lone]))
  starts.add([{ groupId: batch, realmId: realm.id, gathers: true }, ...told([late])])
  expect(fixture.started.map(({ args }) => args)).toEqual([[lone, true], [batch]])
  await starts.end()
  expect(await carrierOf(late)).toBeNull()
})

test('groups whose worker died before it started a run are started by the reconciler, and sent once', async () => {
  await serve()
  const [lone = '', ...waiting] = await queueMany(3, longAgo())
  starts.add(told([lone]))
  starts.add(told(waiting))
  await runAll()
  await reconcile()
  expect(groupsStarted().toSorted()).toEqual([lone, ...waiting].toSorted())
  await runAll()
  // The worker was only frozen, and wakes up.
  await starts.end()
  await runAll()
  await allSent([lone, ...waiting])
})

test('what is on its way to a run is not sent by another one as well', async () => {
  await serve()
  const [first = '', second = ''] = await queueMany(2, longAgo())
  const lost = startsOf({ start: () => Promise.reject(new Error('Temporal is away')), end: async () => {} })
  lost.add(told([first, second]))
  await lost.end()
  expect(warnings).toEqual(['a run of mails was not started'])
  // The run of the second group, as a reconciler that looked a moment before would start it.
  await sendOnce(second)
  expect(server.mails).toHaveLength(0)
  await reconcile()
  expect(groupsStarted()).toEqual([first])
  await runAll()
  await allSent([first, second])
})

test('a run that was killed half way sends the rest, and what it cannot know of with the same Message-ID', async () => {
  const groups = await queueMany(12)
  const [first = ''] = groups
  starts.add(told(groups))
  await starts.end()
  const environment = surroundings(`mail/${first}`)
  await serve({ onMail: () => void (server.mails.length === 4 && environment.cancel('WORKER_SHUTDOWN')) })
  const input = { groupId: first, after: null }
  await expect(environment.run(fixture.activities.sendMails, input)).rejects.toThrow()
  const sent = await fixture.em().find(Mail, { status: 'SENT' })
  expect(sent.length).toBeGreaterThanOrEqual(4)
  expect(sent.length).toBeLessThan(12)
  // The last one was taken by the server when the worker died, but is not marked.
  await fixture.em().nativeUpdate(Mail, { id: sent[0]?.id ?? '' }, { status: 'QUEUED', endedDate: null })
  await sendOnce(first)
  expect(server.mails).toHaveLength(13)
  expect(new Set(messageIds()).size).toBe(12)
  expect(await settle(first)).toEqual({ queued: 0, sent: 12, failed: 0 })
})

test('a mail that cannot be written fails alone, with its reason', async () => {
  await serve()
  const gone = await queue({ kind: 'CERTIFICATE', to: ['owner@example.org'], facts: facts() })
  const others = await queueMany(2)
  starts.add(told([...others, gone]))
  await starts.end()
  await runAll()
  expect(await fixture.em().findOneOrFail(Mail, { groupId: gone })).toMatchObject({
    status: 'FAILED',
    failureReason: 'The certificate is no longer there.',
  })
  expect(server.mails).toHaveLength(2)
  expect(await settle(others[0] ?? '')).toEqual({ queued: 0, sent: 2, failed: 1 })
})
