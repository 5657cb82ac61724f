// The worker is killed when the identity provider has made an API client and the records have not.
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { until } from '../support/issuing.ts'
import { openIdentities, type Identities } from '../support/identities.ts'
import { clientsPath, isAccepted } from '../support/machines.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { makeScene } from './scene.ts'

const lock = 7_234_999
const name = `Crash ${crypto.randomUUID()}`

let service: Processes
let store: Identities

beforeAll(async () => {
  service = await startProcesses()
  store = await openIdentities()
}, 120_000)
afterAll(async () => {
  await store.close()
  await service.stop()
}, 60_000)

/** Recording a client waits for as long as the lock is held. */
const trigger = `create function wait_for_test() returns trigger language plpgsql as
  $$ begin perform pg_advisory_xact_lock(${lock}); return new; end $$;
  create trigger wait_for_test before insert on api_client for each row execute function wait_for_test();`

const waiting = async (): Promise<boolean> => {
  const sql = `select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = ${lock} and not granted`
  const [row] = await service.orm.em.fork().execute<{ n: number }[]>(sql)
  return (row?.n ?? 0) > 0
}
const known = async () => (await store.listClients(0, 10_000)).filter(client => client.name === name)
const events = (objectId: string) => service.orm.em.fork().count(AuditEvent, { objectId })

test('after its restart the worker ends it at both sides, once, or undoes it', async () => {
  const { realmId } = await makeScene(service, 1)
  await service.orm.em.fork().execute(trigger)
  const reply = await service.orm.em.fork().transactional(async em => {
    await em.execute(`select pg_advisory_xact_lock(${lock})`)
    const call = service.call('POST', clientsPath, { name, realmIds: [realmId] })
    await until('the identity provider has the client, and the records wait', async () => {
      return (await known()).length === 1 && (await waiting())
    })
    const { worker } = service.running
    await worker.kill()
    expect(await worker.exited).toContain('SIGKILL')
    return { call }
  })
  expect(await service.orm.em.fork().count(ApiClient, { name })).toBe(0)
  expect(await known()).toHaveLength(1)
  await service.startWorker()

  const { status, body } = await reply.call
  if (status === 201) {
    expect(await known()).toHaveLength(1)
    expect(await isAccepted(body, body.secret)).toBe(true)
    expect(await events(body.id)).toBe(1)
    return
  }
  expect([502, 503]).toContain(status)
  await until('nothing is left at the identity provider', async () => (await known()).length === 0)
  expect(await service.orm.em.fork().count(ApiClient, { name })).toBe(0)
  expect((await service.call('POST', clientsPath, { name, realmIds: [realmId] })).status).toBe(201)
  expect(await known()).toHaveLength(1)
}, 300_000)
