// Audit events, one at a flush and many without one: the same row either way.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { system, type Principal } from '../../domain/principal.ts'
import { record, recordMany, type Fact } from '../../storage/audit.ts'
import { openStorage } from '../../storage/orm.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { actAs } from '../../storage/rows/stamp.ts'
import { freshDatabase } from '../support/database.ts'

const now = new Date('2026-03-04T05:06:07.089Z')
const ada: Principal = { id: randomUUID(), type: 'USER', name: 'Ada' }
let orm: MikroORM

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase(), clock: () => now })
})
afterAll(() => orm.close())

const newFact = (members: Partial<Fact> = {}): Fact => ({
  type: 'ENTITY_CREATED',
  objectId: randomUUID(),
  what: 'Realm Demo created',
  ...members,
})

const read = ({ objectId }: Fact) => orm.em.fork().findOneOrFail(AuditEvent, { objectId })

const writers = {
  'at a flush': async (facts: readonly Fact[]) => {
    const em = actAs(orm.em.fork(), ada)
    for (const fact of facts) record(em, fact)
    await em.flush()
  },
  'many at once': (facts: readonly Fact[]) => recordMany(actAs(orm.em.fork(), ada), facts, { now }),
}

test.each(Object.entries(writers))('an event tells who did what and when (%s)', async (_, write) => {
  const bare = newFact()
  const placed = newFact({ realmId: randomUUID(), certificateId: randomUUID(), type: 'CERTIFICATE_ISSUED' })
  await write([bare, placed])
  const author = { principalId: ada.id, principalType: 'USER', occurredDate: now }
  expect(await read(bare)).toMatchObject({
    eventType: 'ENTITY_CREATED',
    eventDescription: 'Realm Demo created by Ada',
    realmId: null,
    certificateId: null,
    ...author,
  })
  const { realmId, certificateId } = placed
  expect(await read(placed)).toMatchObject({ eventType: 'CERTIFICATE_ISSUED', realmId, certificateId, ...author })
})

test('the service is the author where it is stated, whoever acts', async () => {
  const fact = newFact()
  await recordMany(actAs(orm.em.fork(), ada), [fact], { now, author: system })
  expect(await read(fact)).toMatchObject({
    principalId: null,
    principalType: 'SYSTEM',
    eventDescription: 'Realm Demo created by the service',
  })
})

test('thousands are recorded in the order of the list', async () => {
  const facts = Array.from({ length: 2500 }, () => newFact())
  await recordMany(orm.em.fork(), facts, { now })
  const rows = await orm.em
    .fork()
    .find(AuditEvent, { objectId: { $in: facts.map(({ objectId }) => objectId) } }, { orderBy: { id: 'asc' } })
  expect(rows.map(({ objectId }) => objectId)).toEqual(facts.map(({ objectId }) => objectId))
})
