// Ending the items of an order: by their key, whatever is known of the table, and never twice.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { countRunning, endItems, readyItems, type ItemEnd } from '../../storage/order-items.ts'
import { openStorage } from '../../storage/orm.ts'
import { OrderItem } from '../../storage/rows/certificate-order.ts'
import { freshDatabase } from '../support/database.ts'
import { makeEndEntity, makePolicy, makeRealm } from '../support/records.ts'
import { until } from '../support/issuing.ts'

const size = 10_000
const orderId = 'order-of-many'
let orm: MikroORM

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase(), connections: 10 })
  const em = orm.em.fork()
  await em.execute('alter table order_item set (autovacuum_enabled = false)')
  const realm = await makeRealm(em)
  const [policy, endEntity] = [await makePolicy(em, realm), await makeEndEntity(em, realm)]
  await em.execute(
    `insert into cert_request (id, created_by_type, created_date, last_modified_by_type, last_modified_date, realm_id, policy_id,
         end_entity_id, key_pair_mode, cert_request_status, requires_manual_approval, dual_control, requester_may_approve, user_responses)
       select gen_random_uuid(), 'SYSTEM', now(), 'SYSTEM', now(), ?, ?, ?, 'SERVER_GEN', 'APPROVED', false, false, true, '[]'
         from generate_series(1, ${size})`,
    [realm.id, policy.id, endEntity.id],
  )
  await em.execute(
    `insert into certificate_order (id, created_by, multiple, omit_artifacts, status, started_date)
       values (?, gen_random_uuid(), true, true, 'RUNNING', now())`,
    [orderId],
  )
  await em.execute(
    `insert into order_item (order_id, cert_request_id, position, status)
       select ?, id, row_number() over () - 1, 'RUNNING' from cert_request`,
    [orderId],
  )
})
afterAll(() => orm.close())

/** So many items that still run. */
const running = async (count: number): Promise<string[]> => {
  const rows = await orm.em
    .fork()
    .execute<{ id: string }[]>(
      `select cert_request_id as id from order_item where status = 'RUNNING' order by position limit ?`,
      [count],
    )
  return rows.map(({ id }) => id)
}

const ended = (ids: readonly string[], status: ItemEnd['status']): ItemEnd[] =>
  ids.map(certRequestId => ({ certRequestId, status }))

const statusesOf = async (ids: readonly string[]): Promise<Set<string>> => {
  const items = await orm.em.fork().find(OrderItem, { certRequestId: { $in: [...ids] } })
  return new Set(items.map(({ status }) => status))
}

/** How many items the server has read for this connection, by whatever way, since it last said so. */
const rowsRead = async (em: EntityManager): Promise<number> => {
  const [row] = await em.execute<{ read: string }[]>(
    `select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_xact_user_tables where relname = 'order_item'`,
  )
  return Number(row?.read ?? 0)
}

test('a chunk of items is read without the rest of the order, also before the table is analysed', async () => {
  await orm.em.fork().transactional(async em => {
    const chunk = { from: 5000, to: 5249 }
    const before = await rowsRead(em)
    expect(await readyItems(em, orderId, chunk)).toHaveLength(250)
    expect(await countRunning(em, orderId, chunk)).toBe(250)
    expect((await rowsRead(em)) - before).toBeLessThanOrEqual(2 * 250)
  })
})

// What the planner knows of the table: nothing; that orders have an item each, as before this one was placed; how it is.
describe.each([
  ['is not analysed', 'select'],
  [
    'was analysed before the order was placed',
    `create temporary table later as select * from order_item;
     delete from order_item;
     insert into certificate_order select 'order-' || n, created_by, true, true, 'RUNNING', now()
       from certificate_order, generate_series(1, ${size}) as n;
     insert into order_item select 'order-' || position + 1, cert_request_id, 0, 'RUNNING' from later;
     analyze order_item;
     delete from order_item;
     insert into order_item select * from later`,
  ],
  ['is analysed', 'analyze order_item'],
])('where the table of items %s', (_, made) => {
  beforeAll(() => orm.em.fork().execute(made))

  test.each(['force_custom_plan', 'force_generic_plan'])(
    'fifty of ten thousand items are read once to lock and once to end them, and no others, by %s',
    async mode => {
      const ids = await running(50)
      await orm.em.fork().transactional(async em => {
        await em.execute(`set local plan_cache_mode = ${mode}`)
        const before = await rowsRead(em)
        await endItems(em, orderId, ended(ids, 'COMPLETED'))
        expect((await rowsRead(em)) - before).toBeLessThanOrEqual(2 * ids.length)
      })
      expect(await statusesOf(ids)).toEqual(new Set(['COMPLETED']))
    },
  )
})

test('each failure keeps its own reason', async () => {
  const ids = await running(3)
  const failures = ['one', 'other', 'one'].map(errorMessage => ({ apiError: 'ISSUE_REJECTED' as const, errorMessage }))
  await endItems(
    orm.em.fork(),
    orderId,
    ids.map((certRequestId, index) => ({ certRequestId, status: 'FAILED', failure: failures[index] })),
  )
  const items = await orm.em.fork().find(OrderItem, { certRequestId: { $in: ids } }, { orderBy: { position: 'asc' } })
  expect(items.map(({ status, failureCode, failureMessage }) => [status, failureCode, failureMessage])).toEqual([
    ['FAILED', 'ISSUE_REJECTED', 'one'],
    ['FAILED', 'ISSUE_REJECTED', 'other'],
    ['FAILED', 'ISSUE_REJECTED', 'one'],
  ])
})

test('an item that is cancelled meanwhile stays so, and the others end', async () => {
  const [id = '', ...others] = await running(3)
  const em = orm.em.fork()
  const ending = await em.transactional(async canceler => {
    await endItems(canceler, orderId, ended([id], 'CANCELED'))
    const going = endItems(orm.em.fork(), orderId, ended([id, ...others], 'COMPLETED'))
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until('the other waits', async () => (await orm.em.fork().execute<unknown[]>(waiting)).length > 0)
    return { going }
  })
  await ending.going
  expect(await statusesOf([id])).toEqual(new Set(['CANCELED']))
  expect(await statusesOf(others)).toEqual(new Set(['COMPLETED']))
})

test('transactions that end the same items in opposite orders do not deadlock, and one of them ends each', async () => {
  const ids = await running(200)
  const orders = Array.from({ length: 8 }, (_, index) => (index % 2 ? ids : ids.toReversed()))
  const end = (some: readonly string[]) =>
    orm.em.fork().transactional(tx => endItems(tx, orderId, ended(some, 'COMPLETED')))
  await expect(Promise.all(orders.map(end))).resolves.toHaveLength(8)
  expect(await statusesOf(ids)).toEqual(new Set(['COMPLETED']))
})
