// Mails, tokens and challenges that have served are removed, and nothing else.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { removeOldRecords } from '../../storage/old-records.ts'
import { openStorage } from '../../storage/orm.ts'
import { Mail, MailGroup } from '../../storage/rows/mail.ts'
import { ScepChallenge } from '../../storage/rows/scep-challenge.ts'
import { VerificationToken } from '../../storage/rows/verification-token.ts'
import { freshDatabase, serviceUrlOf } from '../support/database.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

const now = new Date('2031-06-01T00:00:00Z')
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000)
let orm: MikroORM

beforeAll(async () => {
  orm = await openStorage({ url: serviceUrlOf(await freshDatabase()) })
})
afterAll(() => orm.close())

const group = async (closedDate: Date | null): Promise<string> => {
  const em = orm.em.fork()
  const id = randomUUID()
  em.create(MailGroup, { id, kind: 'TEST', facts: { count: 1, items: [] }, createdDate: daysAgo(200), closedDate })
  em.create(Mail, { id: randomUUID(), groupId: id, address: 'x@example.org', status: 'SENT' })
  await em.flush()
  return id
}
const token = async (expiresDate: Date): Promise<string> => {
  const em = orm.em.fork()
  const hash = randomUUID().replaceAll('-', '').repeat(2)
  em.create(VerificationToken, { hash, certRequestId: randomUUID(), email: 'x@example.org', expiresDate })
  await em.flush()
  return hash
}

const challenge = async (expiresDate: Date): Promise<string> => {
  const em = orm.em.fork()
  const realm = await makeRealm(em)
  const [policy, endEntity] = [await makePolicy(em, realm), await makeEndEntity(em, realm)]
  const hash = randomUUID().replaceAll('-', '').repeat(2)
  em.create(ScepChallenge, {
    hash,
    endEntityId: endEntity.id,
    policyId: policy.id,
    expiresDate,
    spentDate: daysAgo(95),
  })
  await em.flush()
  return hash
}

test('what was closed or expired three months ago goes, the rest stays', async () => {
  await group(daysAgo(91))
  const kept = [await group(daysAgo(89)), await group(null)]
  await token(daysAgo(91))
  const valid = await token(daysAgo(89))
  await challenge(daysAgo(91))
  const recent = await challenge(daysAgo(89))
  expect(await removeOldRecords(orm.em.fork(), now, 1000)).toBe(false)
  const em = orm.em.fork()
  expect((await em.find(MailGroup, {})).map(({ id }) => id).toSorted()).toEqual(kept.toSorted())
  expect(await em.count(Mail, {})).toBe(2)
  expect((await em.find(VerificationToken, {})).map(({ hash }) => hash)).toEqual([valid])
  expect((await em.find(ScepChallenge, {})).map(({ hash }) => hash)).toEqual([recent])
})

test('a long list goes in parts', async () => {
  for (let made = 0; made < 3; made++) await group(daysAgo(100))
  expect(await removeOldRecords(orm.em.fork(), now, 2)).toBe(true)
  expect(await removeOldRecords(orm.em.fork(), now, 2)).toBe(false)
  expect(await orm.em.fork().count(MailGroup, { closedDate: { $lt: daysAgo(90) } })).toBe(0)
})
