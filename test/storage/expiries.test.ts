// That a certificate expired is recorded once (contract 4.3, 11.1).
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { recordExpired } from '../../storage/expiries.ts'
import { openStorage } from '../../storage/orm.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { copyCertificate } from '../support/copies.ts'
import { freshDatabase, serviceUrlOf } from '../support/database.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

const now = new Date('2031-01-31T10:00:00.000Z')
const before = new Date(now.getTime() - 1)
const eventType = 'CERTIFICATE_EXPIRED' as const
let owner: MikroORM
let orm: MikroORM

beforeAll(async () => {
  const url = await freshDatabase()
  owner = await openStorage({ url })
  orm = await openStorage({ url: serviceUrlOf(url), clock: () => now })
})
afterAll(async () => {
  await owner.close()
  await orm.close()
})
beforeEach(async () => {
  await owner.em.fork().nativeDelete(AuditEvent, {})
  await owner.em.fork().nativeDelete(Certificate, {})
})

const make = async (members: Partial<Certificate> = {}): Promise<Certificate> => {
  const em = orm.em.fork()
  const realm = await makeRealm(em)
  const endEntity = await makeEndEntity(em, realm)
  return makeCertificate(em, await makePolicy(em, realm), { endEntity, validNotAfter: before, ...members })
}
const record = (atMost = 1000, at = now): Promise<number> => recordExpired(orm.em.fork(), at, atMost)
const events = () => orm.em.fork().find(AuditEvent, { eventType })

test('an event tells which certificate expired when; the service is its author', async () => {
  const { id, realmId, subjectDn } = await make()
  expect(await record()).toBe(1)
  const [event, ...others] = await events()
  expect(others).toEqual([])
  expect(event).toMatchObject({
    objectId: id,
    certificateId: id,
    realmId,
    eventDescription: `Certificate ${subjectDn} expired on 2031-01-31T09:59:59.999Z, recorded by the service`,
    principalId: null,
    principalType: 'SYSTEM',
    occurredDate: now,
  })
})

test('a certificate without a subject goes by its serial number', async () => {
  const { serialNumber } = await make({ subjectDn: '' })
  await record()
  expect((await events())[0]?.eventDescription).toMatch(new RegExp(`^Certificate ${serialNumber} expired on `))
})

test('it is recorded once, and is no change of the certificate', async () => {
  const made = await make()
  expect([await record(), await record()]).toEqual([1, 0])
  expect(await events()).toHaveLength(1)
  const row = await orm.em.fork().findOneOrFail(Certificate, made.id)
  expect([row.version, row.lastModifiedDate]).toEqual([made.version, made.lastModifiedDate])
})

test.each<[string, Partial<Certificate>]>([
  ['at the very end of its validity', { validNotAfter: now }],
  ['that is valid', { validNotAfter: new Date(now.getTime() + 1) }],
  ['that was revoked before', { revocationReason: 'SUPERSEDED', revocationDate: before }],
  ['on hold', { revocationReason: 'CERTIFICATE_HOLD', revocationDate: before }],
])('nothing is recorded of a certificate %s', async (_, members) => {
  await make(members)
  expect(await record()).toBe(0)
  expect(await events()).toEqual([])
})

test('a certificate whose hold ends after its validity expires then', async () => {
  const { id } = await make({ revocationReason: 'CERTIFICATE_HOLD', revocationDate: before })
  expect(await record()).toBe(0)
  await orm.em.fork().nativeUpdate(Certificate, { id }, { revocationReason: null, revocationDate: null })
  expect([await record(), await record()]).toEqual([1, 0])
})

test('an archived certificate expires as others do', async () => {
  await make({ archived: true })
  expect(await record()).toBe(1)
})

test('what another transaction changes meanwhile is left for the next look', async () => {
  const { id } = await make()
  await orm.em.fork().transactional(async em => {
    await em.nativeUpdate(Certificate, { id }, { revocationReason: 'SUPERSEDED', revocationDate: before })
    expect(await record()).toBe(0)
  })
  expect(await record()).toBe(0)
  expect(await events()).toEqual([])
})

test('a transaction that fails leaves neither event nor mark', async () => {
  await make()
  const broken = orm.em.fork().transactional(async em => {
    expect(await recordExpired(em, now, 1000)).toBe(1)
    throw new Error('killed')
  })
  await expect(broken).rejects.toThrow('killed')
  expect(await events()).toEqual([])
  expect(await record()).toBe(1)
})

test('of 10,000 that expire at once each is recorded once, by several workers, a bounded part at a time', async () => {
  const { id } = await make()
  await copyCertificate(owner.em.fork(), id, 9999)
  const worker = async (): Promise<number> => {
    for (let total = 0; ;) {
      const recorded = await record()
      expect(recorded).toBeLessThanOrEqual(1000)
      if (recorded === 0) return total
      total += recorded
    }
  }
  const totals = await Promise.all([worker(), worker(), worker()])
  expect(totals.reduce((sum, one) => sum + one) + (await record())).toBe(10_000)
  const [counts] = await orm.em
    .fork()
    .execute('select count(*)::int as events, count(distinct certificate_id)::int as certificates from audit_event')
  expect(counts).toEqual({ events: 10_000, certificates: 10_000 })
}, 180_000)
