// Mails from their event to the mail server: what is queued, what they say, and how each ends.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { ChunkEnd } from '../../activities/mail/sending.ts'
import type { MailFacts, MailKind } from '../../domain/mails.ts'
import { queueEventMails, queueMails, type NewMails } from '../../storage/mails.ts'
import { settingSecretUse } from '../../storage/key-uses.ts'
import { forgottenGroups } from '../../storage/outbox.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import { Setting } from '../../storage/rows/setting.ts'
import type { MailProgress } from '../../workflows/send-mails.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { startMailServer, type MailServer, type MailServerOptions } from '../support/mail-server.ts'
import { linkMailingList, makeRealm } from '../support/records.ts'
import { certificatesOf, makeScene, newRequest, openFixture, run, set, surroundings, type Fixture } from './fixture.ts'

let fixture: Fixture
let realm: Realm
let server: MailServer
const servers: MailServer[] = []

/** A mail server that the settings name. */
const serve = async (options: MailServerOptions = {}): Promise<MailServer> => {
  server = await startMailServer(options)
  servers.push(server)
  await set(fixture, 'mail.port', String(server.port))
  return server
}

beforeAll(async () => {
  fixture = await openFixture()
  realm = await makeRealm(fixture.em(), { name: 'Büro' })
  await set(fixture, 'mail.host', '127.0.0.1')
  await set(fixture, 'mail.from', 'ca@example.org')
})
beforeEach(async () => {
  await set(fixture, 'mail.enabled', 'true')
  await set(fixture, 'mail.language', 'en')
  await fixture.em().nativeDelete(MailGroup, {})
  fixture.started.length = 0
})
afterEach(async () => {
  for (const one of servers.splice(0)) await one.stop()
})
afterAll(() => fixture.orm.close())

const item = { id: '5f9c0d4e-6a5b-4c33-9b7e-0d6c2b1a9f10', subject: 'CN=web-01' }
const facts = (members: Partial<MailFacts> = {}): MailFacts => ({ count: 1, items: [item], ...members })

const queue = async (members: Partial<NewMails> = {}, now = new Date()): Promise<string> => {
  const mails: NewMails = {
    kind: 'CERTIFICATES_CREATED',
    realmId: realm.id,
    to: ['ops@example.org'],
    facts: facts(),
    ...members,
  }
  const id = await fixture.em().transactional(em => queueMails(em, mails, { now }))
  if (id === null) throw new Error('Nothing was queued.')
  return id
}

const sendOnce = (groupId: string, after: string | null = null): Promise<ChunkEnd> =>
  run(fixture.activities.sendMails, { groupId, after })
const settle = (groupId: string): Promise<MailProgress> => run(fixture.activities.settleMails, { groupId })
const mailsOf = (groupId: string) => fixture.em().find(Mail, { groupId }, { orderBy: { address: 'asc' } })
const sent = async (members: Partial<NewMails> = {}) => {
  const groupId = await queue(members)
  await sendOnce(groupId)
  const [first] = server.mails
  if (!first) throw new Error(`Nothing was sent: ${(await mailsOf(groupId))[0]?.failureReason}`)
  return { groupId, ...first, text: first.mail.text ?? '', subject: first.mail.subject ?? '' }
}

test('each address gets a mail of its own, which is SENT then and not sent again', async () => {
  await serve()
  const groupId = await queue({ to: ['ops@example.org', 'pki@example.org'] })
  const settled = { queued: 0, sent: 2, failed: 0 }
  expect(await sendOnce(groupId)).toEqual({ last: null, over: false, settled })
  expect(server.mails.map(({ to }) => to).toSorted()).toEqual(['ops@example.org', 'pki@example.org'])
  expect(server.mails.every(({ mail, to }) => mail.to?.length === 1 && mail.to[0]?.address === to)).toBe(true)
  expect(await settle(groupId)).toEqual(settled)
  expect(await sendOnce(groupId)).toEqual({ last: null, over: false, settled })
  expect(server.mails).toHaveLength(2)
  expect((await fixture.em().findOneOrFail(MailGroup, groupId)).closedDate).not.toBeNull()
})

test('sender, date, Message-ID and a word against automatic answers are in the header', async () => {
  await serve()
  const { groupId, mail, from } = await sent()
  const [row] = await mailsOf(groupId)
  const { createdDate } = await fixture.em().findOneOrFail(MailGroup, groupId)
  expect([from, mail.from?.address]).toEqual(['ca@example.org', 'ca@example.org'])
  expect(mail.messageId).toBe(`<${row?.id}@localhost>`)
  expect(Date.parse(mail.date ?? '')).toBe(Math.floor(createdDate.getTime() / 1000) * 1000)
  expect(mail.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated')
})

const words: [MailKind, string, string, string, string][] = [
  [
    'CERTIFICATES_CREATED',
    '[Büro] Certificate issued: CN=web-01',
    'was issued',
    '[Büro] Zertifikat ausgestellt: CN=web-01',
    'wurde 1 Zertifikat ausgestellt',
  ],
  [
    'CERTIFICATES_IMPORTED',
    '[Büro] Certificate imported: CN=web-01',
    'was imported',
    '[Büro] Zertifikat importiert: CN=web-01',
    'wurde 1 Zertifikat importiert',
  ],
  [
    'CERTIFICATES_REVOKED',
    '[Büro] Certificate revoked: CN=web-01',
    'was revoked',
    '[Büro] Zertifikat gesperrt: CN=web-01',
    'wurde 1 Zertifikat gesperrt',
  ],
  [
    'CERTIFICATES_EXPIRING',
    '[Büro] Certificate expires within 7 days: CN=web-01',
    'will expire within 7 days',
    '[Büro] Zertifikat läuft innerhalb von 7 Tagen ab: CN=web-01',
    'läuft innerhalb von 7 Tagen 1 Zertifikat ab',
  ],
  [
    'REQUESTS_APPROVED',
    '[Büro] Certificate request approved: CN=web-01',
    'was approved',
    '[Büro] Zertifikatsantrag genehmigt: CN=web-01',
    'wurde 1 Zertifikatsantrag genehmigt',
  ],
  [
    'REQUESTS_DECLINED',
    '[Büro] Certificate request declined: CN=web-01',
    'was declined',
    '[Büro] Zertifikatsantrag abgelehnt: CN=web-01',
    'wurde 1 Zertifikatsantrag abgelehnt',
  ],
]

test.each(words)('%s is told in English and in German', async (kind, english, inText, german, imText) => {
  await serve()
  const told = {
    ...facts({ days: 7, by: 'Jörg Müller' }),
    items: [
      {
        ...item,
        policyName: 'Türen',
        serialNumber: '0a1b',
        validNotAfter: '2031-01-31T10:15:30.000Z',
        revocationReason: 'KEY_COMPROMISE',
      },
    ],
  }
  const first = await sent({ kind, facts: told })
  expect(first.subject).toBe(english)
  for (const part of [
    inText,
    '- CN=web-01\n',
    'Policy: Türen',
    'Serial number: 0a1b',
    'Valid until: 31 January 2031 at 10:15 UTC',
    'Reason: KEY_COMPROMISE',
    'Decided by: Jörg Müller',
    'automatically by Certwright',
  ])
    expect(first.text).toContain(part)
  await set(fixture, 'mail.language', 'de')
  server.mails.length = 0
  const second = await sent({ kind, facts: told })
  expect(second.subject).toBe(german)
  for (const part of [
    imText,
    'Richtlinie: Türen',
    'Seriennummer: 0a1b',
    'Gültig bis: 31. Januar 2031 um 10:15 UTC',
    'Grund: KEY_COMPROMISE',
    'Entschieden von: Jörg Müller',
  ])
    expect(second.text).toContain(part)
})

test('many certificates are counted, and the first twenty listed', async () => {
  await serve()
  const items = Array.from({ length: 20 }, (_, index) => ({ ...item, subject: `CN=host-${index}` }))
  const { subject, text } = await sent({ facts: { count: 250, items } })
  expect(subject).toBe('[Büro] 250 certificates issued')
  expect(text.match(/^- CN=host-/gm)).toHaveLength(20)
  expect(text).toContain('and 230 more.')
})

test('names with line breaks make no header, no line and no recipient', async () => {
  await serve()
  const evil = 'web\r\nBcc: thief@example.com\r\n\r\nHello,\u2028pay\u202e here'
  const { subject, text, source, mail } = await sent({
    facts: facts({ items: [{ ...item, subject: evil }], by: evil }),
  })
  expect(subject).toBe('[Büro] Certificate issued: web Bcc: thief@example.com Hello, pay here')
  expect(text).toContain('- web Bcc: thief@example.com Hello, pay here\n')
  expect(source).not.toMatch(/^(Bcc|Hello)/m)
  expect(mail.bcc).toBeUndefined()
  expect(server.mails.map(({ to }) => to)).toEqual(['ops@example.org'])
})

test('a name as long as it may be and in any script comes through', async () => {
  await serve()
  const name = '証明書 Żółć 🔐 '.repeat(12).trim()
  const { subject, source } = await sent({ facts: facts({ items: [{ ...item, subject: name }] }) })
  expect(subject).toBe(`[Büro] Certificate issued: ${name}`)
  expect(source.split('\r\n').every(line => Buffer.byteLength(line) <= 998 && /^[\u0000-\u007f]*$/.test(line))).toBe(
    true,
  )
})

const longest = `${'a'.repeat(64)}@${['b', 'c', 'd'].map(letter => letter.repeat(60)).join('.')}.eeeee`
test.each([longest, '"a,b"@example.org', "o'neil+tag@example.org", 'x@[192.0.2.1]'])(
  'the address %s gets its mail',
  async address => {
    await serve()
    const { to, mail } = await sent({ to: [address] })
    expect(to).toBe(address)
    expect(mail.to?.map(one => one.address)).toEqual([address])
    expect(server.mails).toHaveLength(1)
  },
)

test.each(['ops@example.org>\r\nRCPT TO:<thief@example.com', 'a@b.example,c@d.example', 'nobody', 'ünder@example.org'])(
  'the text %j is no address: that mail fails, the others go',
  async address => {
    await serve()
    const groupId = await queue({ to: [address, 'ops@example.org'] })
    await sendOnce(groupId)
    expect(server.mails.map(({ to }) => to)).toEqual(['ops@example.org'])
    const failed = (await mailsOf(groupId)).find(row => row.address === address)
    expect(failed).toMatchObject({ status: 'FAILED', failureReason: 'The recipient is no mail address.' })
  },
)

test('an address that no SMTP command can hold fails at once', async () => {
  await serve()
  const groupId = await queue({ to: ['"a<b>"@example.org'] })
  expect((await sendOnce(groupId)).over).toBe(false)
  expect((await mailsOf(groupId))[0]).toMatchObject({ status: 'FAILED' })
  expect(server.mails).toEqual([])
})

test('a certificate is attached with its chain, as openssl reads it', async () => {
  await serve()
  const bench = new Workbench()
  const scene = await makeScene(fixture.orm)
  const request = await newRequest(fixture.em(), scene)
  await run(fixture.activities.issueChunk, { runId: request.runId ?? '', certRequestIds: [request.id] })
  const [certificate] = await certificatesOf(fixture.em(), request)
  const { mail, subject } = await sent({
    kind: 'CERTIFICATE',
    facts: facts({ items: [{ id: certificate?.id ?? '', subject: certificate?.subjectDn ?? '' }] }),
  })
  expect(subject).toBe(`Your certificate ${certificate?.subjectDn}`)
  const base = `${certificate?.subjectCommonName?.replaceAll(' ', '_')}_${certificate?.serialNumber}`
  expect(mail.attachments.map(({ filename }) => filename)).toEqual([`${base}.pem`, `${base}.chain.pem`])
  const [leaf, chain] = mail.attachments.map(({ content }) => Buffer.from(content as Uint8Array).toString())
  const verdict = await openssl(
    'verify',
    '-x509_strict',
    '-CAfile',
    await bench.file(chain ?? ''),
    await bench.file(leaf ?? ''),
  )
  expect(verdict.text).toContain(': OK')
  const print = await openssl('x509', '-in', await bench.file(leaf ?? ''), '-noout', '-fingerprint', '-sha256')
  expect(print.text.replaceAll(':', '').toLowerCase()).toContain(certificate?.fingerprint)
  await bench.clear()
})

test('a certificate that is gone cannot be sent', async () => {
  await serve()
  const groupId = await queue({ kind: 'CERTIFICATE' })
  await sendOnce(groupId)
  expect(await settle(groupId)).toEqual({ queued: 0, sent: 0, failed: 1 })
  expect((await mailsOf(groupId))[0]?.failureReason).toBe('The certificate is no longer there.')
})

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
  expect(await sendOnce(late)).toEqual({ last: null, over: true })
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
  await linkMailingList(em, realm.id, [])
  expect(await told()).toBeNull()
  await linkMailingList(em, realm.id, ['ops@example.org'], true)
  expect(await told()).toBeNull()
  await linkMailingList(em, realm.id, ['ops@example.org'])
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
  expect(await forgottenGroups(fixture.em(), new Date(now - 2 * 60_000))).toHaveLength(1)
})

test('an input that names another group is refused', async () => {
  const [mine, other] = [await queue(), await queue()]
  const input = { groupId: other, after: null }
  await expect(surroundings(`mail/${mine}`).run(fixture.activities.sendMails, input)).rejects.toMatchObject({
    type: 'ACCESS_DENIED',
  })
})
