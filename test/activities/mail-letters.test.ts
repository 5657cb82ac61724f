// What mails say, to whom they go, and what cannot be said in them.
import { expect, test } from '@jest/globals'
import type { MailKind } from '../../domain/mails.ts'
import { MailGroup } from '../../storage/rows/mail.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { certificatesOf, makeScene, newRequest, run, set } from './fixture.ts'
import { fixture, server, serve, item, facts, queue, sendOnce, settle, mailsOf, sent, useMailRig } from './mail-rig.ts'

useMailRig()

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

test.each(words)('%s is told in English and in German', async (...row) => {
  const [kind, english, inText, german, imText] = row
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
  expect(source.split('\r\n').every(line => Buffer.byteLength(line) <= 998 && !/[\u{80}-\u{10ffff}]/u.test(line))).toBe(
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
