// Imports of principals: those of the identity provider are brought in, those that are gone are disabled, and no
// administrator is lost.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { openDirectory } from '../../activities/directory/keycloak.ts'
import type { IdentityProvider } from '../../embedded/servers/identity-provider.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { User } from '../../storage/rows/user.ts'
import { importClientsRun } from '../../workflows/user-starts.ts'
import { startOptions } from '../../workflows/starts.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { factsOf, refusalOf } from '../support/issuing.ts'
import { startOwnIdentityProvider } from '../support/own-identity-provider.ts'
import { detailsOf, startService, type Service } from '../support/service.ts'

const own = { clientId: 'importer', secret: 'importer-secret' }
const usersImport = '/api/v1/admin/import-provider-users'
const clientsImport = '/api/v1/admin/import-provider-clients'

let service: Service
let provider: IdentityProvider
let proxy: Awaited<ReturnType<typeof startFaultyProxy>>
/** An API client who is an administrator, and known to the identity provider. */
let admin: Awaited<ReturnType<Service['apiClient']>>

beforeAll(async () => {
  provider = await startOwnIdentityProvider('imports')
  await provider.store.upsertClient({ ...own, managesClients: true })
  proxy = await startFaultyProxy(new URL(provider.url).origin)
  const directory = openDirectory({
    url: `${proxy.url}/auth`,
    realm: 'certwright',
    clientId: own.clientId,
    clientSecret: own.secret,
  })
  service = await startService({ services: { directory } })
  admin = await service.apiClient({ GLOBAL: ['ADMIN'] })
  await provider.store.upsertClient({ clientId: admin.clientId })
}, 120_000)
afterEach(() => proxy.set('PASSES'))
afterAll(async () => {
  await service.stop()
  await proxy.stop()
  await provider.stop()
})

const newUser = async (more: object = {}) => {
  const username = `user-${randomUUID()}`
  const names = { firstName: 'Ada', lastName: 'Lovelace', email: `${username}@example.org` }
  return provider.store.upsertUser({ username, ...names, ...more })
}
const userOf = (subject: string) => service.em().findOne(User, { providerId: subject })
const clientOf = (providerId: string) => service.em().findOne(ApiClient, { providerId })
const forbid = async (subject: string) => {
  const roles = await provider.store.listRoles()
  await provider.store.giveRoles(
    subject,
    roles.map(({ id }) => id),
  )
}

describe('an import of users', () => {
  test('brings all in page by page, as they are, and nothing twice', async () => {
    const many = await Promise.all(Array.from({ length: 205 }, () => newUser()))
    const closed = await newUser({ enabled: false })
    const [first] = many
    await forbid(first?.id ?? '')
    expect((await admin.get(usersImport)).status).toBe(204)
    const stored = await service.em().find(User, { providerId: { $in: many.map(({ id }) => id) } })
    expect(stored).toHaveLength(205)
    expect(await userOf(first?.id ?? '')).toMatchObject({
      email: first?.email,
      passwordLoginEnabled: false,
      enabled: true,
    })
    expect(await userOf(closed.id)).toMatchObject({ firstName: 'Ada', lastName: 'Lovelace', enabled: false })
    expect(await factsOf(service, stored[0]?.id ?? '')).toEqual(['ENTITY_CREATED'])
    expect(await detailsOf(service, 'import-users')).toMatch(/206 new, 0 changed/)
    expect((await admin.get(usersImport)).status).toBe(204)
    expect(await factsOf(service, stored[0]?.id ?? '')).toEqual(['ENTITY_CREATED'])
    expect((await userOf(first?.id ?? ''))?.version).toBe(1)
  }, 180_000)

  test('takes over what has changed, and disables who is gone', async () => {
    const [changed, gone] = [await newUser(), await newUser()]
    await admin.get(usersImport)
    await provider.store.updateUser(changed.id, { ...changed, lastName: 'King', email: null, attributes: {} })
    await provider.store.removeUser(gone.id)
    expect((await admin.get(usersImport)).status).toBe(204)
    expect(await userOf(changed.id)).toMatchObject({ lastName: 'King', email: null, enabled: true, version: 2 })
    const lost = await userOf(gone.id)
    expect(lost).toMatchObject({ enabled: false, email: gone.email, version: 2, lastModifiedBy: admin.id })
    expect(await factsOf(service, lost?.id ?? '')).toEqual(['ENTITY_CREATED', 'ENTITY_UPDATED'])
  }, 120_000)

  test('of somebody who logged in before completes the record of the login', async () => {
    const known = await newUser()
    const em = service.em()
    em.create(User, { providerId: known.id })
    await em.flush()
    await admin.get(usersImport)
    expect(await service.em().find(User, { providerId: known.id })).toMatchObject([{ email: known.email }])
  }, 120_000)

  test('while the identity provider is away is 502, and nobody is disabled', async () => {
    const stranger = await service.user()
    await proxy.set('DOWN')
    expect(refusalOf(await admin.get(usersImport))).toEqual([502, 'IDENTITY_PROVIDER_ERROR'])
    expect(refusalOf(await admin.get(clientsImport))).toEqual([502, 'IDENTITY_PROVIDER_ERROR'])
    expect(await service.em().findOne(User, stranger.id)).toMatchObject({ enabled: true })
    await proxy.set('PASSES')
    expect((await admin.get(usersImport)).status).toBe(204)
    expect(await service.em().findOne(User, stranger.id)).toMatchObject({ enabled: false })
  }, 180_000)

  /** From the second page on. */
  const laterPage = /[?&]first=100\b/

  test('that loses the identity provider in the middle of its list disables nobody, and keeps what it has read', async () => {
    const stranger = await service.user()
    const [gone] = [await newUser(), ...(await Promise.all(Array.from({ length: 120 }, () => newUser())))]
    expect((await admin.get(usersImport)).status).toBe(204)
    const back = await service.em().findOneOrFail(User, { providerId: gone?.id ?? '' })
    await provider.store.removeUser(gone?.id ?? '')
    await service.em().nativeUpdate(User, stranger.id, { enabled: true })
    // By its name the first of all.
    const early = await newUser({ username: `a-${randomUUID()}` })
    proxy.beforeRead(async url => (laterPage.test(url) ? proxy.set('DOWN') : undefined))
    expect(refusalOf(await admin.get(usersImport))).toEqual([502, 'IDENTITY_PROVIDER_ERROR'])
    expect(await detailsOf(service, 'import-users')).toMatch(/^100 read, 1 new, 0 changed; 0 looked for, 0 disabled$/)
    expect(await userOf(early.id)).toMatchObject({ enabled: true })
    for (const id of [stranger.id, back.id])
      expect(await service.em().findOne(User, id)).toMatchObject({ enabled: true })
    proxy.beforeRead(async () => undefined)
    await proxy.set('PASSES')
    expect((await admin.get(usersImport)).status).toBe(204)
    for (const id of [stranger.id, back.id])
      expect(await service.em().findOne(User, id)).toMatchObject({ enabled: false })
  }, 240_000)

  test('that loses it for a moment goes on where it was', async () => {
    const gone = await newUser()
    await admin.get(usersImport)
    await provider.store.removeUser(gone.id)
    let lost = false
    proxy.beforeRead(async url => {
      if (lost || !laterPage.test(url)) return
      lost = true
      await proxy.set('DOWN')
      await proxy.set('PASSES')
    })
    expect((await admin.get(usersImport)).status).toBe(204)
    proxy.beforeRead(async () => undefined)
    expect(lost).toBe(true)
    expect(await detailsOf(service, 'import-users')).toMatch(/ 0 new, 0 changed; \d+ looked for, 1 disabled$/)
    expect(await userOf(gone.id)).toMatchObject({ enabled: false })
  }, 120_000)

  test('twice at the same moment is one', async () => {
    const replies = await Promise.all([admin.get(usersImport), admin.get(usersImport)])
    expect(replies.map(({ status }) => status)).toEqual([204, 204])
  }, 120_000)
})

describe('an import of clients', () => {
  const newClient = (more: object = {}) => provider.store.upsertClient({ clientId: `bot-${randomUUID()}`, ...more })

  test('brings those in that are new, with a name that nobody has, and takes over whether they are enabled', async () => {
    const [plain, closed] = [await newClient(), await newClient({ enabled: false })]
    const twins = [await newClient(), await newClient()]
    for (const twin of twins)
      await provider.store.updateClient(twin.id, { ...twin, name: 'The Same Name', attributes: {} })
    expect((await admin.get(clientsImport)).status).toBe(204)
    expect(await clientOf(plain.clientId)).toMatchObject({ name: plain.clientId, enabled: true, realmIds: [] })
    expect(await clientOf(closed.clientId)).toMatchObject({ enabled: false })
    const names = await Promise.all(twins.map(async ({ clientId }) => (await clientOf(clientId))?.name))
    expect(names.filter(name => name === 'The Same Name')).toHaveLength(1)
    expect(await clientOf(own.clientId)).toBeNull()
    await provider.store.upsertClient({ clientId: plain.clientId, enabled: false })
    await admin.get(clientsImport)
    const stored = await clientOf(plain.clientId)
    expect(stored).toMatchObject({ enabled: false, version: 2 })
    expect(await factsOf(service, stored?.id ?? '')).toEqual(['ENTITY_CREATED', 'ENTITY_UPDATED'])
  }, 120_000)

  test('leaves alone what a run of ours is about to record', async () => {
    const client = await newClient()
    await provider.store.updateClient(client.id, { ...client, attributes: { 'certwright.id': randomUUID() } })
    await admin.get(clientsImport)
    expect(await clientOf(client.clientId)).toBeNull()
  }, 120_000)

  test('disables those that are gone, but for the last administrator', async () => {
    const gone = await service.apiClient()
    await provider.store.removeClient((await provider.store.findClient(admin.clientId))?.id ?? '')
    for (const { id, enabled } of await service.em().findAll(ApiClient))
      if (enabled && id !== admin.id && id !== gone.id)
        await service.em().nativeUpdate(ApiClient, id, { enabled: false })
    await service.em().nativeUpdate(User, {}, { enabled: false })
    expect((await admin.get(clientsImport)).status).toBe(204)
    expect(await service.em().findOne(ApiClient, gone.id)).toMatchObject({ enabled: false })
    expect(await service.em().findOne(ApiClient, admin.id)).toMatchObject({ enabled: true })
    expect(await detailsOf(service, 'import-clients')).toMatch(/stays enabled as the last administrator/)
    await provider.store.upsertClient({ clientId: admin.clientId })
  }, 120_000)

  test('is refused while another one runs', async () => {
    const start = importClientsRun({ id: admin.id, type: 'API_CLIENT', name: 'admin' })
    // A task queue that nobody listens at: it runs until it is ended.
    const handle = await service.client.workflow.start(start.workflow, startOptions(start, `nobody-${randomUUID()}`))
    try {
      expect(refusalOf(await admin.get(clientsImport))).toEqual([409, 'INVALID_STATE'])
    } finally {
      await handle.terminate()
    }
  })
})
