// How mails end: sent, refused, waiting, given up; and what is queued at all.
import { expect, test } from '@jest/globals'
import type { ChunkEnd } from '../../activities/mail/sending.ts'
import { queueEventMails, queueMails, type NewMails } from '../../storage/mails.ts'
import { settingSecretUse } from '../../storage/key-uses.ts'
import { forgottenRuns } from '../../storage/outbox.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { linkMailingList } from '../support/records.ts'
import { run, set, surroundings } from './fixture.ts'
import {
  fixture,
  realm,
  server,
  servers,
  serve,
  item,
  facts,
  queue,
  sendOnce,
  settle,
  mailsOf,
  sent,
  useMailRig,
} from './mail-rig.ts'

useMailRig()

const token = 'c2VjcmV0LXRva2VuLW9mLWEtdmVyaWZpY2F0aW9uLW1haWw'
const verification = (): Partial<NewMails> => ({
  kind: 'VERIFICATION',
  facts: facts({ validUntil: '2031-01-31T10:15:30.000Z' }),
  secret: { token, seal: fixture.services.seal },
})

test('the token of a verification mail is sealed until the mail is sent, and erased then', async () => {
  await serve({ onMail: () => (server.mails.length === 0 && refuse ? { code: 450, text: token } : undefined) })
  let refuse = true
  const groupId = await queue(verification())
  const stored = await fixture
    .em()
    .execute("select m::text as text, encode(sealed_token, 'escape') as sealed from mail m")
  expect(JSON.stringify(stored)).not.toContain(token)
  await sendOnce(groupId)
  const [waiting] = await mailsOf(groupId)
  expect(waiting).toMatchObject({ status: 'QUEUED', failureReason: 'The mail server refused the mail (450).' })
  expect(waiting?.sealedToken).not.toBeNull()
  refuse = false
  await sendOnce(groupId)
  expect((await mailsOf(groupId))[0]).toMatchObject({ status: 'SENT', sealedToken: null, failureReason: null })
  expect(server.mails[0]?.mail.text).toContain(`http://localhost/verify-email?token=${token}\n`)
  expect(server.mails[0]?.mail.text).toContain('The link serves until 31 January 2031 at 10:15 UTC.')
})

test('the token is erased as well when the mail is refused or given up', async () => {
  await serve({ onRecipient: () => ({ code: 550, text: 'no' }) })
  const refused = await queue(verification())
  await sendOnce(refused)
  expect((await mailsOf(refused))[0]).toMatchObject({ status: 'FAILED', sealedToken: null })
  const givenUp = await queue(verification())
  expect(await run(fixture.activities.giveUpMails, { groupId: givenUp })).toEqual({ queued: 0, sent: 0, failed: 1 })
  expect((await mailsOf(givenUp))[0]).toMatchObject({ sealedToken: null, failureReason: 'No attempt was made.' })
})

test('the link begins with verification.base-url where that is set', async () => {
  await serve()
  await set(fixture, 'verification.base-url', 'https://pki.example.org/confirm')
  const { text } = await sent(verification())
  await set(fixture, 'verification.base-url', null)
  expect(text).toContain(`https://pki.example.org/confirm?token=${token}\n`)
})

test('a refused recipient fails at once, a deferred one waits, the others get their mail', async () => {
  const refusals: Record<string, { code: number; text: string }> = {
    'a@example.org': { code: 550, text: '5.1.1 unknown' },
    'b@example.org': { code: 451, text: '4.7.1 greylisted' },
  }
  await serve({ onRecipient: address => refusals[address] })
  const to = ['a@example.org', 'b@example.org', 'c@example.org']
  const groupId = await queue({ to })
  expect((await sendOnce(groupId)).over).toBe(false)
  expect((await mailsOf(groupId)).map(({ status, failureReason }) => [status, failureReason])).toEqual([
    ['FAILED', 'The mail server refused the recipient (550 5.1.1).'],
    ['QUEUED', 'The mail server refused the recipient (451 4.7.1).'],
    ['SENT', null],
  ])
  expect(await settle(groupId)).toEqual({ queued: 1, sent: 1, failed: 1 })
  delete refusals['b@example.org']
  await sendOnce(groupId)
  expect(await settle(groupId)).toEqual({ queued: 0, sent: 2, failed: 1 })
  expect(server.mails.map(mail => mail.to).toSorted()).toEqual(['b@example.org', 'c@example.org'])
})

test('many mails go over a few connections, a part of them at a time', async () => {
  await serve()
  const to = Array.from({ length: 120 }, (_, index) => `user-${index}@example.org`)
  const groupId = await queue({ to })
  let chunks = 0
  for (let after: string | null = null; ; chunks += 1) {
    const { last }: ChunkEnd = await sendOnce(groupId, after)
    if (last === null) break
    after = last
  }
  // Two full parts, and the last one behind which there is nothing.
  expect(chunks).toBe(2)
  expect(server.mails.map(mail => mail.to).toSorted()).toEqual(to.toSorted())
  expect(new Set(server.mails.map(({ mail }) => mail.messageId)).size).toBe(120)
  expect(server.connections()).toBeLessThanOrEqual(12)
})

test('a server that is away ends the pass after a few attempts, with a reason at every mail', async () => {
  await serve()
  await server.stop()
  servers.length = 0
  const groupId = await queue({ to: Array.from({ length: 30 }, (_, index) => `user-${index}@example.org`) })
  expect((await sendOnce(groupId)).over).toBe(true)
  const rows = await mailsOf(groupId)
  expect(rows.every(row => row.failureReason === 'The mail server refused the connection (ECONNREFUSED).')).toBe(true)
  expect(rows.reduce((sum, row) => sum + row.attempts, 0)).toBeLessThanOrEqual(8)
})

test('a mail that was taken but not marked is sent again with the same Message-ID, and only that one', async () => {
  await serve()
  const groupId = await queue({ to: ['a@example.org', 'b@example.org', 'c@example.org'] })
  await sendOnce(groupId)
  // As a crash between the answer of the server and the mark leaves it.
  const [lost] = await mailsOf(groupId)
  await fixture.em().nativeUpdate(Mail, { id: lost?.id ?? '' }, { status: 'QUEUED', endedDate: null })
  await sendOnce(groupId)
  const idsTo = (address: string) => server.mails.filter(({ to }) => to === address).map(({ mail }) => mail.messageId)
  expect(server.mails).toHaveLength(4)
  expect(new Set(idsTo('a@example.org')).size).toBe(1)
  expect(idsTo('a@example.org')).toHaveLength(2)
})

test.each([
  ['mail.enabled', 'false', 'Mail is switched off (mail.enabled).'],
  ['mail.host', null, 'The setting mail.host is missing.'],
  ['mail.from', 'nobody', 'The setting mail.from is missing or no address.'],
])('while %s is %s queued mails wait', async (key, value, reason) => {
  await serve()
  const groupId = await queue()
  const before = await fixture.services.settings.text(key as 'mail.host')
  await set(fixture, key, value)
  expect((await sendOnce(groupId)).over).toBe(true)
  await set(fixture, key, before)
  expect((await mailsOf(groupId))[0]).toMatchObject({ status: 'QUEUED', failureReason: reason })
  await sendOnce(groupId)
  expect(server.mails).toHaveLength(1)
})

test('the login is that of the settings, its password sealed', async () => {
  const password = 'Paß-wort 1'
  const known: string[] = []
  await serve({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: (login, _, done) => {
      known.push(`${login.username} ${login.password}`)
      done(null, { user: login.username })
    },
  })
  const em = fixture.em()
  const sealed = fixture.services.seal.seal(Buffer.from(password), settingSecretUse('mail.password'))
  em.create(Setting, { settingsKey: 'mail.password', sealed })
  await em.flush()
  await set(fixture, 'mail.username', 'certwright')
  await sent()
  await set(fixture, 'mail.username', null)
  expect(known).toEqual([`certwright ${password}`])
})

test('while several groups are sent another one waits for its turn', async () => {
  const opened: (() => void)[] = []
  await serve({ onConnect: (_, done) => void opened.push(done) })
  const groups = await Promise.all(Array.from({ length: 4 }, () => queue()))
  const sending = groups.map(groupId => sendOnce(groupId))
  const late = await queue()
  expect(await sendOnce(late)).toEqual({ last: null, over: true, busy: true })
  while (opened.length < 4) await new Promise(resolve => void setTimeout(resolve, 20))
  for (const go of opened) go()
  await Promise.all(sending)
  expect(server.mails).toHaveLength(4)
})

test('mail that is off, and a realm without a list, with an empty or an archived one, queue nothing', async () => {
  const em = fixture.em()
  const event = { kind: 'CERTIFICATES_CREATED', realmId: realm.id, items: [item] } as const
  const told = () => queueEventMails(fixture.em(), event, { now: new Date() })
  expect(await told()).toBeNull()
  await linkMailingList(em, realm.id, { emails: [] })
  expect(await told()).toBeNull()
  await linkMailingList(em, realm.id, { emails: ['ops@example.org'], archived: true })
  expect(await told()).toBeNull()
  await linkMailingList(em, realm.id, { emails: ['ops@example.org'] })
  await set(fixture, 'mail.enabled', 'false')
  expect(await told()).toBeNull()
  expect(
    await queueMails(em, { kind: 'CERTIFICATE', to: ['x@example.org'], facts: facts() }, { now: new Date() }),
  ).toBeNull()
  expect(await em.count(MailGroup)).toBe(0)
  await set(fixture, 'mail.enabled', 'true')
  expect(await told()).not.toBeNull()
})

test('what is rolled back is not sent', async () => {
  const failing = fixture.em().transactional(async em => {
    await queueMails(em, { kind: 'CERTIFICATE', to: ['x@example.org'], facts: facts() }, { now: new Date() })
    throw new Error('rolled back')
  })
  await expect(failing).rejects.toThrow('rolled back')
  expect(await fixture.em().count(Mail)).toBe(0)
})

test('the reconciler starts the run of groups that nobody looked at, once they are old enough', async () => {
  const now = Date.now()
  const groups = [await queue({}, new Date(now - 60_000)), await queue({}, new Date(now - 5000))]
  const looked = await queue({}, new Date(now - 60_000))
  await settle(looked)
  const lost = await queue({}, new Date(now - 5 * 3_600_000))
  await fixture.em().nativeUpdate(MailGroup, { id: lost }, { triedDate: new Date(now - 3 * 3_600_000) })
  await run(fixture.activities.startMissingRuns, undefined)
  const ids = fixture.started.map(({ id }) => id).filter(id => id.startsWith('mail/'))
  expect(ids.toSorted()).toEqual([`mail/${groups[0]}`, `mail/${lost}`].toSorted())
  expect(await forgottenRuns(fixture.em(), new Date(now - 2 * 60_000))).toHaveLength(1)
})

test('an input that names another group is refused', async () => {
  const [mine, other] = [await queue(), await queue()]
  const input = { groupId: other, after: null }
  await expect(surroundings(`mail/${mine}`).run(fixture.activities.sendMails, input)).rejects.toMatchObject({
    type: 'ACCESS_DENIED',
  })
})
