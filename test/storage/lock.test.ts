// Advisory locks: running versions share their numbers, and no order of keys makes two transactions deadlock.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { takeKeyedLocks, takeLock } from '../../storage/lock.ts'
import { openStorage } from '../../storage/orm.ts'
import { freshDatabase } from '../support/database.ts'

let orm: MikroORM

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
})
afterAll(() => orm.close())

const heldBy = async (em: EntityManager): Promise<string[]> => {
  const rows = await em.execute<{ number: string }[]>(
    `select ((classid::bigint << 32) | objid::bigint)::text as number from pg_locks
      where locktype = 'advisory' and pid = pg_backend_pid() order by 1`,
  )
  return rows.map(({ number }) => number)
}

const hashOf = async (em: EntityManager, key: string, seed: number): Promise<string> => {
  const [row] = await em.execute<{ hash: string }[]>('select hashtextextended(?, ?)::text as hash', [key, seed])
  return row?.hash ?? ''
}

test.each([
  ['MIGRATION', '7234001'],
  ['FIRST_START', '7234002'],
  ['ADMIN', '7234003'],
  ['IMPORT', '7234004'],
] as const)('the lock %s is %s, until the transaction ends', async (name, number) => {
  const em = orm.em.fork()
  await em.transactional(async tx => {
    await takeLock(tx, name)
    expect(await heldBy(tx)).toEqual([number])
  })
  expect(await heldBy(em)).toEqual([])
})

test.each([
  ['PRINCIPAL', 7],
  ['ALIAS', 11],
  ['ACTIVE_CERTIFICATE', 12],
] as const)('the locks %s are the hashes of their keys under seed %d, each once', async (name, seed) => {
  await orm.em.fork().transactional(async tx => {
    await takeKeyedLocks(tx, name, ['one', 'two', 'one'])
    const hashes = await Promise.all(['one', 'two'].map(key => hashOf(tx, key, seed)))
    expect(await heldBy(tx)).toEqual(hashes.toSorted())
  })
})

test('without keys there is nothing to lock', async () => {
  await orm.em.fork().transactional(async tx => {
    await takeKeyedLocks(tx, 'ALIAS', [])
    expect(await heldBy(tx)).toEqual([])
  })
})

test('transactions that lock the same keys in opposite orders do not deadlock', async () => {
  const keys = Array.from({ length: 200 }, (_, index) => `key ${index}`)
  const lock = (some: readonly string[]) => orm.em.fork().transactional(tx => takeKeyedLocks(tx, 'ALIAS', some))
  const orders = Array.from({ length: 8 }, (_, index) => (index % 2 ? keys : keys.toReversed()))
  await expect(Promise.all(orders.map(lock))).resolves.toHaveLength(8)
})
