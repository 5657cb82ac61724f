// What callers see of mails (contract 8): events told to the realm's list, a certificate sent to its end entity, the test mail.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { settingSecretUse } from '../../storage/key-uses.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { User } from '../../storage/rows/user.ts'
import { mailCheckWorkflowId, mailWorkflowId } from '../../workflows/ids.ts'
import { payloadsIn, textOf } from '../workflows/payloads.ts'
import { historyToText } from '../workflows/history-json.ts'
import { exampleCertificatePem } from '../../api/kernel/examples.ts'
import {
  answering,
  startMailServer,
  startStranger,
  type MailServer,
  type MailServerOptions,
} from '../support/mail-server.ts'
import { factsOf, issueFor, issueNew, refusalOf, setSetting, until } from '../support/issuing.ts'
import { linkMailingList } from '../support/records.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

let service: Service
let scene: Scene
let server: MailServer

const list = 'pki-list@example.org'

const serve = async (options: MailServerOptions = {}): Promise<void> => {
  server = await startMailServer(options)
  await setSetting(service, 'mail.port', String(server.port))
}

beforeAll(async () => {
  service = await startService()
  scene = await makeScene(service, { certificateImportAllowed: true, selfSignedAllowed: true })
  await setSetting(service, 'mail.host', '127.0.0.1')
  await setSetting(service, 'mail.from', 'ca@example.org')
})
beforeEach(async () => {
  await setSetting(service, 'mail.enabled', 'true')
  await serve()
})
afterEach(() => server.stop())
afterAll(() => service.stop())

const withList = async (members: Record<string, unknown> = {}): Promise<Scene> => {
  const made = await makeScene(service, members)
  await linkMailingList(service.em(), made.realmId, { emails: [list] })
  return made
}

const mailsAfter = (count: number) =>
  until(`${count} mails are there`, async () => server.mails.length >= count && server.mails)

const groupsOf = (realmId: string) => service.em().find(MailGroup, { realmId })

/** Every group has ended, so that no mail is still on its way. */
const allClosed = (realmId: string) =>
  until('all mails are sent', async () => (await groupsOf(realmId)).every(({ closedDate }) => closedDate))

describe('events', () => {
  test('an issued certificate is told to the list of its realm, and to nobody without a list', async () => {
    const listed = await withList()
    await issueNew(scene)
    const certificate = await issueNew(listed)
    const [mail] = await mailsAfter(1)
    await allClosed(listed.realmId)
    expect(server.mails.map(({ to }) => to)).toEqual([list])
    expect(mail?.mail.subject).toContain(`Certificate issued: ${certificate.subjectDn}`)
    expect(mail?.mail.text).toContain(`Serial number: ${certificate.serialNumber}`)
    expect(await groupsOf(scene.realmId)).toEqual([])
  })

  test('a batch is told by one mail, however many transactions it takes', async () => {
    const listed = await withList()
    const ids = await Promise.all(Array.from({ length: 60 }, () => listed.newRequest()))
    const { status } = await listed.owner.post('/api/v1/certificates/cert-requests?omitArtifacts=true', ids)
    expect(status).toBe(201)
    const [mail] = await mailsAfter(1)
    await allClosed(listed.realmId)
    expect(server.mails).toHaveLength(1)
    expect(mail?.mail.subject).toContain('60 certificates issued')
  })

  test('an approval and a decline are told once each, with who decided', async () => {
    const listed = await withList({ requiresManualApproval: true })
    const [approved, declined] = [await listed.newRequest(), await listed.newRequest()]
    await listed.owner.patch(`/api/v1/cert-requests/${approved}/approve`)
    await listed.owner.patch(`/api/v1/cert-requests/${declined}/decline`)
    await mailsAfter(2)
    await allClosed(listed.realmId)
    const subjects = server.mails.map(({ mail }) => mail.subject ?? '').toSorted()
    expect(subjects).toEqual([
      expect.stringContaining('request approved: '),
      expect.stringContaining('request declined: '),
    ])
    expect(
      server.mails.every(({ mail }) => mail.text?.includes(`Decided by: ${listed.owner.subject}@example.com`)),
    ).toBe(true)
  })

  test('the first approval of dual control is not told', async () => {
    const listed = await withList({ requiresManualApproval: true, dualControl: true })
    const second = await service.user({ GLOBAL: ['ADMIN'] })
    const third = await service.user({ GLOBAL: ['ADMIN'] })
    const id = await listed.newRequest()
    expect((await second.patch(`/api/v1/cert-requests/${id}/approve`)).status).toBe(200)
    expect(await groupsOf(listed.realmId)).toEqual([])
    expect((await third.patch(`/api/v1/cert-requests/${id}/approve`)).status).toBe(200)
    expect(await groupsOf(listed.realmId)).toHaveLength(1)
    await allClosed(listed.realmId)
  })

  test('an import is told by one mail', async () => {
    const listed = await withList({ certificateImportAllowed: true, selfSignedAllowed: true })
    const body = { policyId: listed.policyId, pemCertificates: exampleCertificatePem }
    const { body: answer } = await listed.owner.post('/api/v1/cert-requests/import-certificates', body)
    expect(answer.importedCertificates).toHaveLength(1)
    const [mail] = await mailsAfter(1)
    expect(mail?.mail.subject).toContain('Certificate imported: ')
  })

  test('with mail switched off nothing is queued', async () => {
    const listed = await withList()
    await setSetting(service, 'mail.enabled', 'false')
    await issueNew(listed)
    expect(await groupsOf(listed.realmId)).toEqual([])
  })
})

describe('emailCertificate', () => {
  const path = (id: string): string => `/api/v1/certificates/${id}/email`
  const withAddress = { commonName: 'web-01.example.org', email: 'owner@example.org' }

  test('the end entity gets the certificate, and that is an audit event', async () => {
    const { id } = await issueFor(scene, withAddress)
    const { status, body } = await scene.owner.post(path(id))
    expect([status, body]).toEqual([204, ''])
    const [mail] = await mailsAfter(1)
    expect(mail?.to).toBe('owner@example.org')
    expect(mail?.mail.attachments).toHaveLength(2)
    expect(await factsOf(service, id)).toContain('CERTIFICATE_EMAILED')
  })

  test('its history names neither the address nor the subject', async () => {
    const { id, subjectDn } = await issueFor(scene, { ...withAddress, commonName: 'web-02.example.org' })
    await scene.owner.post(path(id))
    await mailsAfter(1)
    const group = (await groupsOf(scene.realmId)).find(({ facts }) => facts.items[0]?.id === id)
    if (!group) throw new Error('The mail has no group.')
    const handle = service.client.workflow.getHandle(mailWorkflowId(group.id))
    expect(await handle.result()).toEqual({ queued: 0, sent: 1, failed: 0 })
    const history = await handle.fetchHistory()
    const texts = [historyToText(history), ...(await Promise.all(payloadsIn(history).map(textOf)))].join('\n')
    expect(texts).toContain(group.id)
    expect(texts).not.toContain('owner@example.org')
    expect(texts).not.toContain(subjectDn)
  })

  test('EMAIL_MISSING for an end entity without address', async () => {
    const { id } = await issueNew(scene)
    expect(refusalOf(await scene.owner.post(path(id)))).toEqual([400, 'EMAIL_MISSING'])
  })

  test.each([
    ['mail.enabled', 'false'],
    ['mail.host', null],
    ['mail.from', null],
  ])('MAIL_NOT_CONFIGURED while %s is %s', async (key, value) => {
    const { id } = await issueFor(scene, withAddress)
    const before = await service.services.settings.text(key as 'mail.host')
    await setSetting(service, key, value)
    const answer = await scene.owner.post(path(id))
    await setSetting(service, key, before)
    expect(refusalOf(answer)).toEqual([400, 'MAIL_NOT_CONFIGURED'])
    expect(await factsOf(service, id)).not.toContain('CERTIFICATE_EMAILED')
  })

  test('401 without a token, 403 without the right, 404 for an unknown certificate', async () => {
    const { id } = await issueFor(scene, withAddress)
    const other = await makeScene(service)
    expect((await service.anonymous.post(path(id))).status).toBe(401)
    expect((await other.owner.post(path(id))).status).toBe(403)
    expect(refusalOf(await scene.owner.post(path(randomUUID())))).toEqual([404, 'CERTIFICATE_NOT_FOUND'])
    expect(await service.em().count(Mail, { status: 'QUEUED' })).toBe(0)
  })

  test('the address is that which the end entity has now', async () => {
    const { id, endEntityId } = await issueFor(scene, withAddress)
    await service.em().nativeUpdate(EndEntity, { id: endEntityId }, { email: 'new-owner@example.org' })
    await scene.owner.post(path(id))
    expect((await mailsAfter(1))[0]?.to).toBe('new-owner@example.org')
  })
})

describe('checkEmailConnection', () => {
  const path = '/api/v1/configuration/check-email-connection'
  const admin = () => service.user({ GLOBAL: ['ADMIN'] })

  test('the caller gets a test mail', async () => {
    const caller = await admin()
    expect((await caller.post(path)).status).toBe(204)
    expect(server.mails.map(({ to, mail }) => [to, mail.subject])).toEqual([
      [`${caller.subject}@example.com`, 'Test mail'],
    ])
    expect((await caller.post(path)).status).toBe(204)
    expect(server.mails).toHaveLength(2)
  })

  test('MAIL_NOT_CONFIGURED while mail is off, EMAIL_MISSING for a client and for a user without address', async () => {
    await setSetting(service, 'mail.enabled', 'false')
    expect(refusalOf(await (await admin()).post(path))).toEqual([400, 'MAIL_NOT_CONFIGURED'])
    await setSetting(service, 'mail.enabled', 'true')
    const client = await service.apiClient({ GLOBAL: ['ADMIN'] })
    expect(refusalOf(await client.post(path))).toEqual([400, 'EMAIL_MISSING'])
    const nameless = await admin()
    await service.em().nativeUpdate(User, { id: nameless.id }, { email: null })
    expect(refusalOf(await nameless.post(path))).toEqual([400, 'EMAIL_MISSING'])
  })

  test('401 without a token and 403 without ADMIN', async () => {
    expect((await service.anonymous.post(path)).status).toBe(401)
    expect((await scene.owner.post(path)).status).toBe(403)
  })

  test('MAIL_SERVER_ERROR tells what the server refused, without address and password', async () => {
    await server.stop()
    const said = (code: number) => ({ code, text: '5.7.1 <x@example.com>: relay access denied' })
    await serve({ onRecipient: () => said(550) })
    const caller = await admin()
    const answer = await caller.post(path)
    expect(refusalOf(answer)).toEqual([500, 'MAIL_SERVER_ERROR'])
    expect(answer.body.errorMessage).toBe(
      `Mail server 127.0.0.1:${server.port}. The mail server refused the recipient (550 5.7.1). It said: 550 5.7.1 <…>: relay access denied`,
    )
  })

  test('MAIL_SERVER_ERROR for a refused login shows no password', async () => {
    const password = 'hidden-password'
    await server.stop()
    await serve({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: (login, _, done) => done(new Error(`not ${login.password}`)),
    })
    const em = service.em()
    const sealed = service.services.seal.seal(Buffer.from(password), settingSecretUse('mail.password'))
    em.create(Setting, { settingsKey: 'mail.password', sealed })
    await em.flush()
    await setSetting(service, 'mail.username', 'certwright')
    const caller = await admin()
    const answer = await caller.post(path)
    await setSetting(service, 'mail.username', null)
    expect(answer.body.errorMessage).toContain('The mail server refused the login (535).')
    expect(JSON.stringify(answer.body)).not.toContain(password)
    const history = await service.client.workflow.getHandle(mailCheckWorkflowId(caller.id)).fetchHistory()
    const texts = (await Promise.all(payloadsIn(history).map(textOf))).join('\n')
    expect(texts).toContain('refused the login')
    expect(texts).not.toMatch(/hidden-password|@example/)
  })

  test('a server that never answers is told within 15 s, and the worker issues meanwhile', async () => {
    const tarpit = await startStranger(answering('220 hello\r\n', () => undefined))
    await setSetting(service, 'mail.port', String(tarpit.port))
    const caller = await admin()
    const begin = performance.now()
    const [answer, certificate] = await Promise.all([caller.post(path), issueNew(scene)])
    expect(certificate.id).toBeDefined()
    expect(refusalOf(answer)).toEqual([500, 'MAIL_SERVER_ERROR'])
    expect(answer.body.errorMessage).toContain('did not answer in time')
    expect(performance.now() - begin).toBeLessThan(20_000)
    await tarpit.stop()
  })
})
