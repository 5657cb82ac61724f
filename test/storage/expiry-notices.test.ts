// Reminders of certificates that expire: who is due, once each (contract 8).
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { reminderWindows } from '../../domain/notification-rules.ts'
import { realmsWithReaders, remind } from '../../storage/expiry-notices.ts'
import { openStorage } from '../../storage/orm.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import type { EndEntity } from '../../storage/rows/end-entity.ts'
import { ExpiryNotice } from '../../storage/rows/expiry-notice.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { MailingList } from '../../storage/rows/mailing-list.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { Setting } from '../../storage/rows/setting.ts'
import { freshDatabase, serviceUrlOf } from '../support/database.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

const now = new Date('2031-01-31T10:00:00.000Z')
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000)
let owner: MikroORM
let orm: MikroORM
let realm: Realm
let policy: Policy

beforeAll(async () => {
  const url = await freshDatabase()
  owner = await openStorage({ url })
  orm = await openStorage({ url: serviceUrlOf(url), clock: () => now })
  const em = orm.em.fork()
  em.create(Setting, { settingsKey: 'mail.enabled', value: 'true' })
  const list = em.create(MailingList, { name: 'Operators', emails: ['ops@example.org', 'pki@example.org'] })
  await em.flush()
  realm = await makeRealm(em)
  await em.nativeUpdate(Realm, { id: realm.id }, { mailingListId: list.id })
  policy = await makePolicy(em, realm)
})
afterAll(async () => {
  await owner.close()
  await orm.close()
})
beforeEach(async () => {
  const em = owner.em.fork()
  await em.nativeDelete(AuditEvent, {})
  await em.nativeDelete(MailGroup, {})
  await em.nativeDelete(Certificate, {})
})

type Members = Partial<Certificate> & { readonly endEntity?: EndEntity }

const make = async (days: number, { endEntity, ...members }: Members = {}) => {
  const em = orm.em.fork()
  const owned = endEntity ?? (await makeEndEntity(em, realm))
  const made = await makeCertificate(em, policy, { endEntity: owned, validNotAfter: inDays(days), ...members })
  return { id: made.id, endEntity: owned }
}
const remindAll = async (at = now): Promise<number[]> => {
  const counts: number[] = []
  for (const window of reminderWindows([30, 14, 7, 1], at))
    counts.push((await orm.em.fork().transactional(em => remind(em, realm.id, { window, now: at }))).count)
  return counts
}
const noted = async (): Promise<[string, number][]> =>
  (await orm.em.fork().find(ExpiryNotice, {}, { orderBy: { days: 'asc' } })).map(({ certificateId, days }) => [
    certificateId,
    days,
  ])

test('each certificate is reminded of by the nearest interval, once, and again by the next', async () => {
  const { id } = await make(10)
  expect(await remindAll()).toEqual([0, 0, 1, 0])
  expect(await remindAll()).toEqual([0, 0, 0, 0])
  expect(await remindAll(inDays(4))).toEqual([0, 1, 0, 0])
  expect(await remindAll(inDays(9.5))).toEqual([1, 0, 0, 0])
  expect(await noted()).toEqual([
    [id, 1],
    [id, 7],
    [id, 14],
  ])
  const events = await orm.em.fork().find(AuditEvent, { eventType: 'EXPIRY_REMINDER_SENT' })
  expect(events.map(event => [event.certificateId, event.realmId])).toEqual([1, 2, 3].map(() => [id, realm.id]))
  expect(events.at(-1)?.eventDescription).toMatch(
    /^Reminder that certificate .+ expires within 1 day sent by the service$/,
  )
})

test('one mail an interval tells of all of its certificates, the soonest first, to each address', async () => {
  const later = await make(6)
  const sooner = await make(5)
  await make(25)
  expect(await remindAll()).toEqual([0, 2, 0, 1])
  const groups = await orm.em.fork().find(MailGroup, { kind: 'CERTIFICATES_EXPIRING' }, { orderBy: { createdDate: 1 } })
  const week = groups.find(({ facts }) => facts.days === 7)
  expect(week?.facts).toMatchObject({ count: 2, items: [{ id: sooner.id }, { id: later.id }] })
  expect(await orm.em.fork().count(Mail, { groupId: week?.id ?? '' })).toBe(2)
})

test('nobody hears of what is revoked, archived, expired or renewed', async () => {
  await make(5, { revocationDate: now, revocationReason: 'SUPERSEDED' })
  await make(5, { archived: true })
  await make(-1)
  await make(31)
  const old = await make(5)
  await make(300, { endEntity: old.endEntity })
  expect(await remindAll()).toEqual([0, 0, 0, 0])
})

test("a shorter, a revoked or another policy's certificate renews nothing", async () => {
  const old = await make(5)
  await make(2, { endEntity: old.endEntity })
  await make(300, { endEntity: old.endEntity, revocationDate: now, revocationReason: 'SUPERSEDED' })
  const em = orm.em.fork()
  const other = await makePolicy(em, realm)
  await makeCertificate(em, other, { endEntity: old.endEntity, validNotAfter: inDays(300) })
  await remindAll()
  expect(await noted()).toContainEqual([old.id, 7])
})

test('without anybody to write to nothing is noted, so that nothing is lost', async () => {
  await make(5)
  const off = async (value: string) => orm.em.fork().nativeUpdate(Setting, { settingsKey: 'mail.enabled' }, { value })
  await off('false')
  expect(await remindAll()).toEqual([0, 0, 0, 0])
  await off('true')
  await orm.em.fork().nativeUpdate(MailingList, {}, { archived: true })
  expect(await realmsWithReaders(orm.em.fork())).toEqual([])
  expect(await remindAll()).toEqual([0, 0, 0, 0])
  await orm.em.fork().nativeUpdate(MailingList, {}, { archived: false })
  expect(await realmsWithReaders(orm.em.fork())).toEqual([realm.id])
  expect(await remindAll()).toEqual([0, 1, 0, 0])
})

test('two workers at once send one reminder', async () => {
  await make(5)
  const counts = await Promise.all([1, 2, 3, 4].map(() => remindAll()))
  expect(counts.flat().reduce((sum, count) => sum + count, 0)).toBe(1)
  expect(await orm.em.fork().count(MailGroup, {})).toBe(1)
})
