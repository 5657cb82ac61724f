// Retiring a master key, on real PostgreSQL.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { openStorage } from '../../storage/orm.ts'
import { PrivateKey } from '../../storage/rows/private-key.ts'
import { rewrapKeys } from '../../storage/rewrap.ts'
import { Seal } from '../../storage/seal.ts'
import { freshDatabase } from '../support/database.ts'

const [old, next] = [randomBytes(32), randomBytes(32)]
let orm: MikroORM

beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
})
afterAll(() => orm.close())

test('after rewrapping, the new master key alone opens every private key', async () => {
  const before = new Seal(new Map([['old', old]]))
  const em = orm.em.fork()
  const ids = Array.from({ length: 3 }, () => crypto.randomUUID())
  for (const id of ids) em.create(PrivateKey, { id, sealed: before.seal(Buffer.from(`key ${id}`), id) })
  await em.flush()
  const both = new Seal(
    new Map([
      ['new', next],
      ['old', old],
    ]),
  )
  expect(await rewrapKeys(orm.em, both)).toBe(3)
  expect(await rewrapKeys(orm.em, both)).toBe(0)
  const after = new Seal(new Map([['new', next]]))
  for (const { id, sealed } of await orm.em.fork().find(PrivateKey, {}))
    expect(after.unseal(sealed, id).toString()).toBe(`key ${id}`)
})
