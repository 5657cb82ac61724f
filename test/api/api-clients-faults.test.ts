// API clients when the identity provider, the database or the worker fails: nothing is left behind at either side.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { User } from '../../storage/rows/user.ts'
import { apiClientWorkflowId } from '../../workflows/ids.ts'
import { startFaultyDirectory, type FaultyDirectory } from '../support/faulty-directory.ts'
import type { Fault } from '../support/faulty-proxy.ts'
import { factsOf, refusalOf, until } from '../support/issuing.ts'
import { clientsPath as path, isAccepted, makeMachine } from '../support/machines.ts'
import { detailsOf, makeScene, type Scene } from '../support/service.ts'
import { DIRECTORY_CLIENT } from '../support/stack.ts'
import { historyToText } from '../workflows/history-json.ts'
import { payloadsIn, textOf } from '../workflows/payloads.ts'

let faulty: FaultyDirectory
let service: FaultyDirectory['service']
let proxy: FaultyDirectory['proxy']
let store: FaultyDirectory['store']
let scene: Scene
let admin: Awaited<ReturnType<typeof service.user>>

beforeAll(async () => {
  faulty = await startFaultyDirectory()
  ;({ service, proxy, store } = faulty)
  scene = await makeScene(service)
}, 120_000)
// A token lives for five minutes.
beforeEach(async () => void (admin = await service.user({ GLOBAL: ['ADMIN'] })))
afterEach(async () => {
  proxy.beforeWrite(async () => undefined)
  await proxy.set('PASSES')
})
afterAll(() => faulty.stop())

const newBody = (more: object = {}) => ({ name: `Robot ${randomUUID()}`, realmIds: [scene.realmId], ...more })
const knownAs = async (name: string) => (await store.listClients(0, 10_000)).filter(client => client.name === name)
const recordedAs = (name: string) => service.em().count(ApiClient, { name })
const runOf = (id: string) => service.client.workflow.getHandle(apiClientWorkflowId(id))
const undone = (id: string) =>
  until('the run has ended', async () => (await runOf(id).describe()).status.name !== 'RUNNING')
const refused = [502, 'IDENTITY_PROVIDER_ERROR']

/** What fails at every attempt of a write; what was lost on the way can be undone afterwards. */
const faults: readonly (readonly [Fault, number])[] = [
  ['DOWN', Infinity],
  ['DROPS', 3],
  [500, 3],
  [503, 3],
  [409, Infinity],
  [403, Infinity],
]

test('who stands in line behind the deletion of a client hears that it is gone', async () => {
  const made = await makeMachine(admin, scene)
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  proxy.beforeWrite(() => {
    reached.resolve()
    return gate.promise
  })
  const deletion = admin.delete(`${path}/${made.id}?version=1`)
  await reached.promise
  const others = [
    admin.post(`${path}/${made.id}/reset-secret`),
    admin.patch(`${path}/${made.id}`, { name: `Other ${made.name}` }),
    admin.patch(`${path}/${made.id}`, { enabled: false }),
  ]
  // They may come after the deletion as well: they are in line, or find nothing.
  await new Promise(resolve => void setTimeout(resolve, 500))
  gate.resolve()
  expect((await deletion).status).toBe(204)
  expect((await Promise.all(others)).map(refusalOf)).toEqual(others.map(() => [404, 'API_CLIENT_NOT_FOUND']))
  expect(await knownAs(made.name)).toEqual([])
})

describe.each(faults)('when the identity provider answers %s', (fault, writes) => {
  test('no client is made', async () => {
    const body = newBody()
    await proxy.set(fault, writes)
    const reply = await admin.post(path, body)
    expect(refusalOf(reply)).toEqual(refused)
    await proxy.set('PASSES')
    await until('nothing is left', async () => (await knownAs(body.name)).length === 0)
    expect(await recordedAs(body.name)).toBe(0)
    expect((await admin.post(path, body)).status).toBe(201)
  }, 90_000)

  test('no client is changed', async () => {
    const made = await makeMachine(admin, scene)
    await proxy.set(fault, writes)
    const reply = await admin.patch(`${path}/${made.id}`, { name: `Other ${made.name}`, enabled: false })
    expect(refusalOf(reply)).toEqual(refused)
    await proxy.set('PASSES')
    await undone(made.id)
    expect((await admin.get(`${path}/${made.id}`)).body).toMatchObject({ name: made.name, enabled: true })
    expect(await knownAs(made.name)).toHaveLength(1)
    expect(await isAccepted(made, made.secret)).toBe(true)
  }, 90_000)

  test('no secret is reset', async () => {
    const made = await makeMachine(admin, scene)
    await proxy.set(fault, writes)
    const reply = await admin.post(`${path}/${made.id}/reset-secret`)
    expect(refusalOf(reply)).toEqual(refused)
    await proxy.set('PASSES')
    await undone(made.id)
    expect(await isAccepted(made, made.secret)).toBe(true)
    expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED'])
  }, 90_000)

  test('no client is deleted', async () => {
    const made = await makeMachine(admin, scene)
    await proxy.set(fault, writes)
    const reply = await admin.delete(`${path}/${made.id}?version=1`)
    expect(refusalOf(reply)).toEqual(refused)
    await proxy.set('PASSES')
    await undone(made.id)
    expect((await admin.get(`${path}/${made.id}`)).status).toBe(200)
    expect(await isAccepted(made, made.secret)).toBe(true)
  }, 90_000)
})

test('a message of the identity provider tells what to do, and neither its address nor a secret', async () => {
  await proxy.set('DOWN')
  const { body } = await admin.post(path, newBody())
  expect(body.errorMessage).toBe('The identity provider cannot be reached (ECONNREFUSED).')
})

test('an answer that is lost once is asked for again, and makes one client', async () => {
  const body = newBody()
  await proxy.set('DROPS', 1)
  const { status, body: made } = await admin.post(path, body)
  expect(status).toBe(201)
  expect(await knownAs(body.name)).toHaveLength(1)
  expect(await isAccepted(made, made.secret)).toBe(true)
  expect(await factsOf(service, made.id)).toEqual(['ENTITY_CREATED'])
})

describe('when the records refuse what the identity provider has done', () => {
  /** What the database refuses, as long as a test goes on. */
  const withCheck = async (condition: string, work: () => Promise<void>): Promise<void> => {
    const change = (what: string) => service.em().execute(`alter table api_client ${what}`)
    await change(`add constraint no_such check (${condition}) not valid`)
    try {
      await work()
    } finally {
      await change('drop constraint no_such')
    }
  }

  test('a client that was made is removed', async () => {
    const body = newBody()
    await withCheck(`name <> '${body.name}'`, async () => {
      const before = proxy.writes.length
      expect((await admin.post(path, body)).status).toBeGreaterThanOrEqual(500)
      expect(proxy.writes.slice(before).map(write => write.split(' ')[0])).toEqual(['POST', 'DELETE'])
    })
    expect(await knownAs(body.name)).toEqual([])
    expect(await recordedAs(body.name)).toBe(0)
  }, 90_000)

  test('a client that was made is removed by an identity provider that goes away and comes back', async () => {
    const body = newBody()
    const isUndoing = async (): Promise<boolean> => {
      const query = `TaskQueue = '${service.taskQueue}' and ExecutionStatus = 'Running'`
      for await (const { workflowId } of service.client.workflow.list({ query }))
        return (await detailsOf(service, workflowId)).startsWith('Undoes')
      return false
    }
    await withCheck(`name <> '${body.name}'`, async () => {
      const before = proxy.writes.length
      proxy.beforeWrite(async () => (proxy.writes.length > before ? proxy.set('DOWN') : undefined))
      const reply = admin.post(path, body)
      await until('the run is undoing', isUndoing)
      expect(await knownAs(body.name)).toHaveLength(1)
      proxy.beforeWrite(async () => undefined)
      await proxy.set('PASSES')
      expect((await reply).status).toBeGreaterThanOrEqual(500)
    })
    expect(await knownAs(body.name)).toEqual([])
    expect(await recordedAs(body.name)).toBe(0)
  }, 90_000)

  test('a client that was changed or closed is what it was', async () => {
    const made = await makeMachine(admin, scene)
    await withCheck(`name <> 'Forbidden ${made.id}'`, async () => {
      const change = { name: `Forbidden ${made.id}`, enabled: false }
      expect((await admin.patch(`${path}/${made.id}`, change)).status).toBeGreaterThanOrEqual(500)
    })
    expect(await knownAs(made.name)).toHaveLength(1)
    expect(await isAccepted(made, made.secret)).toBe(true)
  }, 90_000)

  test('a right that was lost meanwhile is told as such, and nothing is left', async () => {
    const loser = await service.user({ GLOBAL: ['ADMIN'] })
    const body = newBody()
    proxy.beforeWrite(async () => void (await service.em().nativeUpdate(User, { id: loser.id }, { enabled: false })))
    const { status, body: told } = await loser.post(path, body)
    proxy.beforeWrite(async () => undefined)
    expect([status, told.apiError]).toEqual([401, 'PRINCIPAL_DISABLED'])
    expect(await knownAs(body.name)).toEqual([])
  }, 90_000)
})

test("the worker's own client is none that can be changed", async () => {
  const em = service.em()
  const own = em.create(ApiClient, { providerId: DIRECTORY_CLIENT.clientId, name: 'The worker' })
  await em.flush()
  const protectedAs = [409, 'SYSTEM_ENTITY_PROTECTED']
  expect(refusalOf(await admin.patch(`${path}/${own.id}`, { enabled: false }))).toEqual(protectedAs)
  expect(refusalOf(await admin.delete(`${path}/${own.id}?version=1`))).toEqual(protectedAs)
  expect((await admin.post(`${path}/${own.id}/reset-secret`)).body.apiError).toBe('SYSTEM_ENTITY_PROTECTED')
  expect(await isAccepted(own, DIRECTORY_CLIENT.secret)).toBe(true)
})

test('no history holds a secret, neither as it stands nor decrypted', async () => {
  const made = await makeMachine(admin, scene)
  const { secret } = (await admin.post(`${path}/${made.id}/reset-secret`)).body as { secret: string }
  let kept = 0
  for await (const run of service.client.workflow.list({ query: `WorkflowId = '${apiClientWorkflowId(made.id)}'` })) {
    const history = await service.client.workflow.getHandle(run.workflowId, run.runId).fetchHistory()
    const texts = await Promise.all(payloadsIn(history, run.type).map(textOf))
    const all = [historyToText(history), ...texts].join('\n')
    expect(texts.some(text => text.includes(made.providerId))).toBe(true)
    for (const one of [made.secret, secret, DIRECTORY_CLIENT.secret]) {
      expect(all).not.toContain(one)
      expect(all).not.toContain(Buffer.from(one).toString('base64').replace(/=+$/, ''))
    }
    expect(all).not.toContain('scrypt$')
    kept += 1
  }
  expect(kept).toBe(2)
})
