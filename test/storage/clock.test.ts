// Rows and queries know no time but that of the clock that they are given.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { setAliases } from '../../storage/aliases.ts'
import { claimRequests, markIssued, releaseRequests } from '../../storage/claims.ts'
import { latestActive } from '../../storage/issue-facts.ts'
import { everyCertificate, findCertificates } from '../../storage/lists/certificates.ts'
import { openStorage } from '../../storage/orm.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import type { Policy } from '../../storage/rows/policy.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { Realm } from '../../storage/rows/realm.ts'
import { freshDatabase } from '../support/database.ts'
import { makeCertificate, makeEndEntity, makePolicy, makeRealm, makeRequest } from '../support/records.ts'

const yesterday = new Date('2001-02-03T04:05:06.007Z')
const today = new Date('2001-02-04T04:05:06.007Z')
const tomorrow = new Date('2001-02-05T04:05:06.007Z')

let time = today
let orm: MikroORM
let realm: Realm
let policy: Policy
let endEntity: EndEntity

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase(), clock: () => time })
  const em = orm.em.fork()
  realm = await makeRealm(em)
  policy = await makePolicy(em, realm)
  endEntity = await makeEndEntity(em, realm)
})
afterAll(() => orm.close())

const newRequest = () => makeRequest(orm.em.fork(), policy, endEntity)
const reread = ({ id }: CertRequest) => orm.em.fork().findOneOrFail(CertRequest, id)

test('a row is created and changed at the time of the clock', async () => {
  const em = orm.em.fork()
  const { id } = await makeRealm(em)
  time = tomorrow
  const row = await em.findOneOrFail(Realm, id)
  row.name = randomUUID()
  await em.flush().finally(() => (time = today))
  expect(await orm.em.fork().findOneOrFail(Realm, id)).toMatchObject({ createdDate: today, lastModifiedDate: tomorrow })
})

test('a row without audit columns is dated by the clock, unless its date is stated', async () => {
  const em = orm.em.fork()
  const order = { createdBy: randomUUID(), multiple: true, omitArtifacts: true, status: 'RUNNING' } as const
  em.create(PrivateKey, { id: realm.id, sealed: Buffer.from([1]) })
  em.create(CertificateOrder, { id: 'order-1', ...order })
  em.create(CertificateOrder, { id: 'order-2', ...order, startedDate: yesterday })
  await em.flush()
  const fresh = orm.em.fork()
  expect((await fresh.findOneOrFail(PrivateKey, realm.id)).createdDate).toEqual(today)
  expect((await fresh.findOneOrFail(CertificateOrder, 'order-1')).startedDate).toEqual(today)
  expect((await fresh.findOneOrFail(CertificateOrder, 'order-2')).startedDate).toEqual(yesterday)
})

test('a claim begins at the time that is stated, and a released request has none', async () => {
  const request = await newRequest()
  const claim = { ids: [request.id], states: ['APPROVED'], now: yesterday } as const
  expect(await claimRequests(orm.em.fork(), 'issue/1', claim)).toEqual(new Set([request.id]))
  expect(await reread(request)).toMatchObject({ runId: 'issue/1', runSince: yesterday })
  await releaseRequests(orm.em.fork(), 'issue/2', [request.id])
  expect((await reread(request)).runId).toBe('issue/1')
  await releaseRequests(orm.em.fork(), 'issue/1', [request.id])
  expect(await reread(request)).toMatchObject({ runId: null, runSince: null })
})

test('only the run that has a request makes it ISSUED, at the time that is stated', async () => {
  const request = await newRequest()
  const claim = { ids: [request.id], states: ['APPROVED'], now: yesterday } as const
  await claimRequests(orm.em.fork(), 'issue/1', claim)
  const certificateId = randomUUID()
  const signed = { certificateIds: new Map([[request.id, certificateId]]), undelivered: true, now: tomorrow }
  expect(await markIssued(orm.em.fork(), 'issue/2', signed)).toEqual(new Set())
  expect((await reread(request)).certRequestStatus).toBe('APPROVED')
  expect(await markIssued(orm.em.fork(), 'issue/1', signed)).toEqual(new Set([request.id]))
  expect(await reread(request)).toMatchObject({
    certRequestStatus: 'ISSUED',
    certificateId,
    undelivered: true,
    runId: null,
    runSince: null,
    lastModifiedByType: 'SYSTEM',
    lastModifiedDate: tomorrow,
    version: request.version + 1,
  })
})

test('an alias is set at the time that is stated', async () => {
  const one = await makeEndEntity(orm.em.fork(), realm)
  await setAliases(orm.em.fork(), [{ id: one.id, realmId: realm.id, alias: 'web' }], tomorrow)
  expect(await orm.em.fork().findOneOrFail(EndEntity, one.id)).toMatchObject({
    alias: 'web',
    lastModifiedDate: tomorrow,
    version: 2,
  })
})

test('which certificate is active depends on the time that is stated', async () => {
  const owner = await makeEndEntity(orm.em.fork(), realm)
  const dates = { validNotBefore: yesterday, validNotAfter: today }
  await makeCertificate(orm.em.fork(), policy, { endEntity: owner, ...dates })
  const latestAt = (now: Date) => latestActive(orm.em.fork(), policy.id, { endEntityIds: [owner.id], now })
  expect(await latestAt(yesterday)).toEqual(new Map([[owner.id, today]]))
  expect(await latestAt(today)).toEqual(new Map([[owner.id, today]]))
  expect(await latestAt(tomorrow)).toEqual(new Map())
})

test('certificates are sorted by the status that they have at the time that is stated', async () => {
  const owner = await makeEndEntity(orm.em.fork(), realm)
  const ending = (validNotAfter: Date) =>
    makeCertificate(orm.em.fork(), policy, { endEntity: owner, validNotBefore: yesterday, validNotAfter })
  const [early, late] = [await ending(yesterday), await ending(tomorrow)]
  const order = async (now: Date) => {
    const reader = { id: randomUUID(), global: new Set(['ADMIN'] as const) }
    const page = { page: 0, size: 10, sort: [{ property: 'certStatus', descending: true }] }
    const query = { ...everyCertificate, endEntityId: owner.id, page, now }
    return (await findCertificates(orm.em.fork(), reader, query)).content.map(({ id }) => id)
  }
  expect(await order(today)).toEqual([early.id, late.id])
  expect(await order(yesterday)).toEqual([early.id, late.id].toSorted())
})
