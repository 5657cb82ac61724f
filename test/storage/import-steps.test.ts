// A step of an import of principals is written once, however often it is tried.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { MikroORM } from '@mikro-orm/postgresql'
import { writeOnce } from '../../storage/import-steps.ts'
import { openStorage } from '../../storage/orm.ts'
import { freshDatabase } from '../support/database.ts'

let orm: MikroORM
beforeAll(async () => {
  orm = await openStorage({ url: await freshDatabase() })
})
afterAll(() => orm.close())

let written = 0
const attempt = (step: string, kind = 'USER') =>
  orm.em.fork().transactional(em => writeOnce(em, { kind, step }, async () => ({ made: ++written, kept: ['Ada'] })))

test('an attempt whose report was lost is answered with what it came to', async () => {
  expect(await attempt('run/1')).toEqual({ made: 1, kept: ['Ada'] })
  expect(await attempt('run/1')).toEqual({ made: 1, kept: ['Ada'] })
  expect(await attempt('run/2')).toMatchObject({ made: 2 })
  expect(await attempt('other run/2')).toMatchObject({ made: 3 })
})

test('steps of another kind are not in the way', async () => {
  const [users, clients] = [await attempt('run/3'), await attempt('run/3', 'API_CLIENT')]
  expect(await attempt('run/3')).toEqual(users)
  expect(await attempt('run/3', 'API_CLIENT')).toEqual(clients)
})

test('what was not committed is written anew, and two attempts at the same moment are one', async () => {
  const broken = orm.em.fork().transactional(async em => {
    await writeOnce(em, { kind: 'USER', step: 'run/4' }, async () => ({ made: -1 }))
    throw new Error('killed')
  })
  await expect(broken).rejects.toThrow('killed')
  const before = written
  const both = await Promise.all([attempt('run/4'), attempt('run/4')])
  expect(both).toEqual([{ made: before + 1, kept: ['Ada'] }, both[0]])
})
