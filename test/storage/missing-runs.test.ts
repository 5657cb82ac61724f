// Thousands of runs wait for weeks: each is looked at in its turn, not all of them each minute.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { runningOrders, sliceAt, waitingRequests } from '../../storage/missing-runs.ts'
import { openStorage } from '../../storage/orm.ts'
import { CertificateOrder } from '../../storage/rows/certificate-order.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { freshDatabase } from '../support/database.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'

const many = 2500
const now = new Date('2031-01-31T10:00:00.000Z')
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000)
let orm: MikroORM

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
})
afterAll(() => orm.close())
beforeEach(async () => {
  await orm.em.fork().nativeDelete(CertificateOrder, {})
})

const storeOrders = (count: number, startedDate: Date) => {
  const rows = Array.from({ length: count }, () => ({
    id: `order-${crypto.randomUUID()}`,
    createdBy: crypto.randomUUID(),
    multiple: false,
    omitArtifacts: true,
    status: 'RUNNING' as const,
    startedDate,
  }))
  return orm.em.fork().insertMany(CertificateOrder, rows)
}

/** What each of so many passes finds, a minute apart. */
const passes = async (count: number, find: (before: Date) => Promise<readonly { id: string }[]>) => {
  const found: string[][] = []
  for (let pass = 0; pass < count; pass++) found.push((await find(minutesAgo(-pass))).map(({ id }) => id))
  return found
}

test('a minute has its slice, and each slice its minute', () => {
  expect(sliceAt(0, now)).toEqual({ slices: 1, slice: 0 })
  expect(sliceAt(1000, now).slices).toBe(1)
  expect(sliceAt(1001, now).slices).toBe(2)
  const slices = Array.from({ length: 20 }, (_, pass) => sliceAt(20_000, minutesAgo(-pass)).slice)
  expect(new Set(slices).size).toBe(20)
})

test('old orders are looked at in turns, none is left out, and young ones are looked at each minute', async () => {
  await storeOrders(many, minutesAgo(60))
  const found = await passes(3, before => runningOrders(orm.em.fork(), before))
  expect(found.flat()).toHaveLength(many)
  expect(new Set(found.flat()).size).toBe(many)
  for (const pass of found) expect(pass.length).toBeLessThan(1000)

  await storeOrders(7, minutesAgo(1))
  const later = await passes(3, before => runningOrders(orm.em.fork(), before))
  expect(later.map((pass, index) => pass.length - (found[index]?.length ?? 0))).toEqual([7, 7, 7])
})

test('a closed order is not looked at', async () => {
  await storeOrders(3, minutesAgo(60))
  await orm.em.fork().nativeUpdate(CertificateOrder, {}, { status: 'COMPLETED' })
  expect(await runningOrders(orm.em.fork(), now)).toEqual([])
})

const storeRequests = async (count: number, createdDate: Date): Promise<void> => {
  const em = orm.em.fork()
  const realm = await makeRealm(em)
  const endEntity = await makeEndEntity(em, realm)
  const policy = await makePolicy(em, realm)
  const rows = Array.from({ length: count }, () => ({
    id: crypto.randomUUID(),
    realmId: realm.id,
    policyId: policy.id,
    endEntityId: endEntity.id,
    keyPairMode: 'SERVER_GEN' as const,
    certRequestStatus: 'PENDING_APPROVAL' as const,
    requiresManualApproval: true,
    dualControl: false,
    requesterMayApprove: true,
    userResponses: [],
    createdByType: 'SYSTEM' as const,
    createdDate,
    lastModifiedByType: 'SYSTEM' as const,
    lastModifiedDate: createdDate,
  }))
  await em.insertMany(CertRequest, rows)
}

test('requests of the last day that wait are looked at in turns as well', async () => {
  await storeRequests(many, minutesAgo(60))
  await storeRequests(5, minutesAgo(1))
  const found = await passes(3, before => waitingRequests(orm.em.fork(), before))
  expect(new Set(found.flat()).size).toBe(many + 5)
  expect(found.flat()).toHaveLength(many + 3 * 5)
  for (const pass of found) expect(pass.length).toBeLessThan(1000)
})
