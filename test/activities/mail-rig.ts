// What the tests of mails share: records, an outbox, and mail servers that the settings name.
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import type { ChunkEnd } from '../../activities/mail/sending.ts'
import type { MailFacts } from '../../domain/mails.ts'
import { queueMails, type NewMails } from '../../storage/mails.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import type { Realm } from '../../storage/rows/realm.ts'
import type { MailProgress } from '../../workflows/send-mails.ts'
import { startMailServer, type MailServer, type MailServerOptions } from '../support/mail-server.ts'
import { makeRealm } from '../support/records.ts'
import { openFixture, run, set, type Fixture } from './fixture.ts'

/** The records. */
export let fixture: Fixture
/** The realm that mails tell of. */
export let realm: Realm
/** The last mail server that was started. */
export let server: MailServer
/** The mail servers that are stopped after the test. */
export const servers: MailServer[] = []

/** Starts a mail server that the settings name. */
export const serve = async (options: MailServerOptions = {}): Promise<MailServer> => {
  server = await startMailServer(options)
  servers.push(server)
  await set(fixture, 'mail.port', String(server.port))
  return server
}

/** Opens the records of a test file, and empties the outbox before each test. */
export const useMailRig = (): void => {
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
}

/** A certificate. */
export const item = { id: '5f9c0d4e-6a5b-4c33-9b7e-0d6c2b1a9f10', subject: 'CN=web-01' }
/** What a mail tells. */
export const facts = (members: Partial<MailFacts> = {}): MailFacts => ({ count: 1, items: [item], ...members })

/** Queues mails and answers the id of their group. */
export const queue = async (members: Partial<NewMails> = {}, now = new Date()): Promise<string> => {
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

/** One attempt at the next mails of a group. */
export const sendOnce = (groupId: string, after: string | null = null): Promise<ChunkEnd> =>
  run(fixture.activities.sendMails, { groupId, after })
/** How the mails of a group stand. */
export const settle = (groupId: string): Promise<MailProgress> => run(fixture.activities.settleMails, { groupId })
/** The rows of a group by address. */
export const mailsOf = (groupId: string) => fixture.em().find(Mail, { groupId }, { orderBy: { address: 'asc' } })
/** Queues and sends mails, and answers the first. */
export const sent = async (members: Partial<NewMails> = {}) => {
  const groupId = await queue(members)
  await sendOnce(groupId)
  const [first] = server.mails
  if (!first) throw new Error(`Nothing was sent: ${(await mailsOf(groupId))[0]?.failureReason}`)
  return { groupId, ...first, text: first.mail.text ?? '', subject: first.mail.subject ?? '' }
}
