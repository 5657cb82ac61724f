// Reading and finding API clients, and the last administrator among them (contract 1.3, 7.3).
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { findOrCreatePrincipal } from '../../storage/principal.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { startApi, type Api } from '../support/api.ts'
import { clientsPath as path } from '../support/machines.ts'
import { refusalOf } from '../support/issuing.ts'
import { makePolicy, makeRealm } from '../support/records.ts'

let api: Api
let reader: Awaited<ReturnType<Api['user']>>
beforeAll(async () => {
  api = await startApi()
  reader = await api.user({ GLOBAL: ['APICLIENTS_READ', 'APICLIENTS_UPDATE', 'APICLIENTS_DELETE'] })
})
afterAll(() => api.stop())

const store = async (members: Partial<ApiClient> = {}) => {
  const em = api.em()
  const providerId = `bot-${randomUUID()}`
  const client = em.create(ApiClient, { providerId, name: `Robot ${providerId}`, ...(members as object) })
  await em.flush()
  return client
}
const search = (body: object, query = '') => reader.post(`${path}/search${query}`, body)
const idsIn = ({ body }: { body: { content: { id: string }[] } }) => body.content.map(({ id }) => id)

test('a client is found by a part of its name, of its client id, or by its id', async () => {
  const word = randomUUID()
  const [one, two] = [await store({ name: `The ${word} robot` }), await store({ providerId: `x-${word}-y` })]
  await store()
  const found = await search({ simpleSearchTerm: word.toUpperCase() })
  expect([found.status, idsIn(found).toSorted()]).toEqual([200, [one.id, two.id].toSorted()])
  expect(idsIn(await search({ simpleSearchTerm: one.id }))).toEqual([one.id])
  expect((await search({ simpleSearchTerm: '%' })).body.totalElements).toBe(0)
})

test('pages are sorted as asked, the newest first unless stated', async () => {
  const realm = await makeRealm(api.em())
  const policy = await makePolicy(api.em(), realm)
  const word = randomUUID()
  const first = await store({ name: `a ${word}`, defaultPolicyId: policy.id, realmIds: [realm.id] })
  const second = await store({ name: `b ${word}` })
  const term = { simpleSearchTerm: word }
  expect(idsIn(await search(term, '?sort=name,asc'))).toEqual([first.id, second.id])
  expect(idsIn(await search(term, '?sort=defaultPolicyName,desc'))).toEqual([first.id, second.id])
  expect((await search(term, '?size=1')).body).toMatchObject({ totalElements: 2, totalPages: 2, first: true })
  const [shown] = (await search(term, '?sort=name,asc')).body.content
  expect(shown).toMatchObject({ defaultPolicyId: policy.id, defaultPolicyName: policy.name, realmIds: [realm.id] })
  expect(shown).not.toHaveProperty('secret')
})

test('search and reading need the right, but for oneself', async () => {
  const client = await api.apiClient()
  expect((await api.anonymous.post(`${path}/search`, {})).status).toBe(401)
  expect(refusalOf(await client.post(`${path}/search`, {}))).toEqual([403, 'ACCESS_DENIED'])
  expect((await client.get(`${path}/${client.id}`)).status).toBe(200)
  const other = await store()
  expect(refusalOf(await client.get(`${path}/${other.id}`))).toEqual([403, 'ACCESS_DENIED'])
  expect(refusalOf(await client.get(`${path}/${randomUUID()}`))).toEqual([403, 'ACCESS_DENIED'])
  expect(refusalOf(await reader.get(`${path}/${randomUUID()}`))).toEqual([404, 'API_CLIENT_NOT_FOUND'])
  expect((await api.anonymous.get(`${path}/${other.id}`)).status).toBe(401)
  const extras = { raw: 'x', headers: { 'Content-Type': 'text/plain' } }
  expect((await reader.post(`${path}/search`, undefined, extras)).status).toBe(415)
})

test('the last administrator is neither disabled nor deleted', async () => {
  const last = await api.apiClient({ GLOBAL: ['ADMIN'] })
  expect(refusalOf(await last.patch(`${path}/${last.id}`, { enabled: false }))).toEqual([409, 'LAST_ADMIN'])
  expect(refusalOf(await last.delete(`${path}/${last.id}?version=1`))).toEqual([409, 'LAST_ADMIN'])
})

test('a client whose client id is the name of another gets a name of its own', async () => {
  const clientId = `taken-${randomUUID()}`
  await store({ name: clientId })
  const made = await findOrCreatePrincipal(api.em(), { kind: 'API_CLIENT', clientId })
  expect(made.name.startsWith(`${clientId} `)).toBe(true)
})
