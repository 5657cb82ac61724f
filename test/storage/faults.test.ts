// What callers are told of a database that goes away: a connection that ends under a statement is no fault of the service.
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { isUnavailable } from '../../storage/faults.ts'
import { openStorage } from '../../storage/orm.ts'
import { statement } from '../../storage/statement.ts'
import { freshDatabase } from '../support/database.ts'

/** The service's side of each connection, which a test cuts. */
const sockets = new Set<Socket>()
/** Whether a connection ends when the service next says something. */
let isCut = false
let url: URL
let orm: MikroORM

const proxy = createServer(socket => {
  const onward = connect(Number(url.port), url.hostname)
  sockets.add(socket)
  for (const one of [socket, onward]) one.on('error', () => undefined)
  socket.on('close', () => void [sockets.delete(socket), onward.destroy()])
  socket.on('data', chunk => void (isCut ? socket.end() : onward.write(chunk)))
  onward.pipe(socket)
})

beforeAll(async () => {
  url = new URL(await freshDatabase())
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const through = new URL(url)
  through.port = String((proxy.address() as AddressInfo).port)
  orm = await openStorage({ url: through.href, connections: 2 })
})
afterAll(async () => {
  await orm.close()
  for (const socket of sockets) socket.destroy()
  await new Promise(resolve => void proxy.close(resolve))
})

const sleeping = statement('select pg_sleep(60), $1::int')

test.each<[string, (em: EntityManager) => Promise<unknown>]>([
  ['a prepared statement', em => sleeping.all(em, [1])],
  ['a statement of the moment', em => em.execute('select pg_sleep(60)')],
  ['a transaction', em => em.transactional(tx => tx.execute('select pg_sleep(60)'))],
])(
  'a connection that ends under %s makes the database unavailable, and the next call has a new one',
  async (_, call) => {
    const asked = call(orm.em.fork()).then(
      () => undefined,
      (error: unknown) => error,
    )
    while (sockets.size === 0) await new Promise(resolve => void setTimeout(resolve, 10))
    await new Promise(resolve => void setTimeout(resolve, 200))
    for (const socket of sockets) socket.end()
    const error = await asked
    expect([String(error), isUnavailable(error)]).toEqual([expect.stringContaining('Connection terminated'), true])
    expect(await orm.em.fork().execute('select 1 as one')).toEqual([{ one: 1 }])
  },
)

const errorOf = (call: Promise<unknown>): Promise<unknown> => call.catch((reason: unknown) => reason)
const one = () => orm.em.fork().execute('select 1 as one')

test.each<[string, (em: EntityManager) => Promise<unknown>]>([
  ['begins', async () => undefined],
  ['goes on', async em => [(isCut = true), await em.execute('select 1')]],
  ['ends', async () => void (isCut = true)],
])('however often a connection is lost as a transaction %s, the pool of two has another one', async (when, work) => {
  for (let lost = 1; lost <= 5; lost++) {
    await one()
    isCut = when === 'begins'
    const error = await errorOf(orm.em.fork().transactional(async em => [await em.execute('select 2'), await work(em)]))
    isCut = false
    expect([lost, String(error), isUnavailable(error)]).toEqual([lost, expect.any(String), true])
  }
  expect(await one()).toEqual([{ one: 1 }])
})

test('what was written before a connection was lost is not there', async () => {
  const em = orm.em.fork()
  await em.execute('create table written (id int)')
  const lost = em.transactional(async transaction => {
    await transaction.execute('insert into written values (1)')
    isCut = true
    await transaction.execute('insert into written values (2)')
  })
  expect(isUnavailable(await errorOf(lost))).toBe(true)
  isCut = false
  expect(await em.execute('select count(*) as count from written')).toEqual([{ count: '0' }])
})

test('an error of the statement itself is none of the database', async () => {
  const error = await orm.em
    .fork()
    .execute('select nothing')
    .catch((reason: unknown) => reason)
  expect([error instanceof Error, isUnavailable(error)]).toEqual([true, false])
  // Nor is what others cannot reach.
  expect(isUnavailable(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))).toBe(false)
})
