// The whole way of a verification mail: request, mail server, link, page, certificate (contract 4.1, 8).
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Mail } from '../../storage/rows/mail.ts'
import { VerificationToken } from '../../storage/rows/verification-token.ts'
import { requestRow, setSetting, until } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'
import { stack } from '../support/stack.ts'

let service: Service
let scene: Scene

interface Caught {
  readonly id: string
  readonly subject: string
  readonly text: string
}

beforeAll(async () => {
  service = await startService()
  const settings = {
    'mail.enabled': 'true',
    'mail.host': '127.0.0.1',
    'mail.port': String(stack.smtpPort()),
    'mail.from': 'ca@example.org',
    'verification.base-url': `${service.url}/verify-email`,
  }
  for (const [key, value] of Object.entries(settings)) await setSetting(service, key, value)
  scene = await makeScene(service, { requiresEmailVerification: true })
})
afterAll(() => service.stop())

const mailsTo = async (email: string): Promise<Caught[]> =>
  (await fetch(`${stack.mailUrl()}/api/messages?to=${encodeURIComponent(email)}`)).json() as Promise<Caught[]>
const linkIn = ({ text }: Caught): string => /^https?:\S+$/m.exec(text)?.[0] ?? ''

const ordered = async () => {
  const email = `${crypto.randomUUID()}@example.org`
  const commonName = `${crypto.randomUUID()}.example.org`
  const id = await scene.newRequest({ endEntityId: await scene.newEndEntity({ commonName, email }) })
  const { orderId } = (await scene.owner.post(`/api/v2/certificates/cert-requests/${id}`)).body
  const [mail] = await until('the mail has come', async () => {
    const mails = await mailsTo(email)
    return mails.length > 0 && mails
  })
  return { id, email, commonName, orderId: orderId as string, mail: mail as Caught }
}

test('who opens the link and confirms has the certificate issued', async () => {
  const { id, commonName, mail } = await ordered()
  expect(mail.subject).toBe('Please confirm your e-mail address')
  expect(mail.text).toContain(commonName)
  const link = linkIn(mail)
  const page = await (await fetch(link)).text()
  expect(page).toContain(commonName)
  expect((await requestRow(service, id)).certRequestStatus).toBe('REQUIRES_EMAIL_VERIFICATION')
  const token = new URL(link).searchParams.get('token') ?? ''
  const answer = await fetch(new URL(link).origin + new URL(link).pathname, {
    method: 'POST',
    body: new URLSearchParams({ token }),
  })
  expect(answer.status).toBe(200)
  await until('the certificate is issued', async () => (await requestRow(service, id)).certificateId)
})

test('the token is in the mail alone once it is sent', async () => {
  const { id, mail } = await ordered()
  const token = new URL(linkIn(mail)).searchParams.get('token') ?? ''
  expect(token).toMatch(/^[\w-]{43}$/)
  await until('the mail is settled', async () => (await service.em().count(Mail, { status: 'QUEUED' })) === 0)
  const rows = await service.em().find(Mail, {})
  expect(rows.map(({ sealedToken }) => sealedToken)).toEqual(rows.map(() => null))
  const [kept] = await service.em().find(VerificationToken, { certRequestId: id })
  expect(JSON.stringify(kept)).not.toContain(token)
})

test('another mail brings another token, and the first link dies', async () => {
  const { id, email, mail } = await ordered()
  const path = `/api/v1/cert-requests/${id}/resend-verification-email`
  expect((await scene.owner.post(path, { email })).status).toBe(204)
  const mails = await until('the second mail has come', async () => {
    const all = await mailsTo(email)
    return all.length === 2 && all
  })
  const second = mails.find(one => linkIn(one) !== linkIn(mail)) as Caught
  expect((await fetch(linkIn(mail))).status).toBe(422)
  expect((await fetch(linkIn(second))).status).toBe(200)
})

test('many requests bring each end entity a mail of its own', async () => {
  const emails = Array.from({ length: 3 }, () => `${crypto.randomUUID()}@example.org`)
  const endEntityIds = await Promise.all(
    emails.map(email => scene.newEndEntity({ commonName: `${crypto.randomUUID()}.example.org`, email })),
  )
  const { status, body } = await scene.owner.post('/api/v1/cert-requests/multiple', {
    policyId: scene.policyId,
    endEntityIds,
    validFor: 'ONE_YEAR',
    keyGenParamsDto: { cryptoAlgorithm: 'EC' },
  })
  expect([status, body.errors]).toEqual([201, []])
  for (const email of emails)
    await until(`the mail to ${email} has come`, async () => (await mailsTo(email)).length === 1)
})
