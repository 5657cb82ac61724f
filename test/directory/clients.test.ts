// The clients of the identity provider as the worker writes and lists them: the embedded one, or a Keycloak (provider.ts).
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'
import { openDirectory, type DirectorySettings } from '../../activities/directory/keycloak.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { admin, settings, tokenOf } from './provider.ts'

const directory = openDirectory(settings)
const made = new Set<string>()

afterAll(async () => {
  for (const providerId of made) await directory.remove(providerId)
})

const newClient = (members: { name?: string; secret?: string } = {}) => {
  const apiClientId = randomUUID()
  const client = { providerId: `directory-${apiClientId}`, apiClientId, name: 'A robot', secret: randomUUID() }
  made.add(client.providerId)
  return { ...client, ...members }
}

const statusOf = async (clientId: string, secret: string): Promise<boolean> =>
  (await tokenOf(clientId, secret)).status === 200
const representationOf = async (providerId: string) => (await admin('GET', `/clients?clientId=${providerId}`)).body[0]

describe('a client that is made', () => {
  test('gets a token of its service account, for the audience of the API', async () => {
    const client = newClient()
    await directory.make(client)
    const { status, token = '' } = await tokenOf(client.providerId, client.secret)
    expect(status).toBe(200)
    const claims = decodeJwt(token)
    expect(claims).toMatchObject({
      azp: client.providerId,
      preferred_username: `service-account-${client.providerId}`,
    })
    expect([claims.aud].flat()).toContain('certwright')
    const { id, name, attributes } = await representationOf(client.providerId)
    expect([name, attributes['certwright.id']]).toEqual(['A robot', client.apiClientId])
    const account = await admin('GET', `/clients/${id}/service-account-user`)
    expect(account.body).toMatchObject({ id: claims.sub, username: `service-account-${client.providerId}` })
  })

  test('has no other way in, and no right to administrate', async () => {
    const client = newClient()
    await directory.make(client)
    expect(await representationOf(client.providerId)).toMatchObject({
      publicClient: false,
      standardFlowEnabled: false,
      directAccessGrantsEnabled: false,
      serviceAccountsEnabled: true,
    })
    const { token } = await tokenOf(client.providerId, client.secret)
    expect((await admin('GET', '/clients', { token })).status).toBe(403)
    expect((await admin('GET', '/clients', { token: 'none' })).status).toBe(401)
  })

  test('is made once, however often that is asked', async () => {
    const client = newClient()
    await directory.make(client)
    const { id } = await representationOf(client.providerId)
    await directory.make(client)
    expect((await representationOf(client.providerId)).id).toBe(id)
    expect(await statusOf(client.providerId, client.secret)).toBe(true)
  })

  test('is completed where an earlier attempt left it otherwise', async () => {
    const client = newClient()
    await directory.make({ ...client, name: 'Another', secret: randomUUID() })
    await directory.make(client)
    expect((await representationOf(client.providerId)).name).toBe('A robot')
    expect(await statusOf(client.providerId, client.secret)).toBe(true)
  })

  test('never takes the place of a client of somebody else', async () => {
    const client = newClient()
    await directory.make(client)
    const other = { ...newClient(), providerId: client.providerId }
    await expect(directory.make(other)).rejects.toMatchObject({
      code: 'IDENTITY_PROVIDER_ERROR',
      message: `The identity provider has another client ${client.providerId} already.`,
      untouched: true,
    })
    expect(await statusOf(client.providerId, client.secret)).toBe(true)
    expect(await statusOf(client.providerId, other.secret)).toBe(false)
  })
})

describe('a client that is changed', () => {
  test('gets no token while it is disabled, and its secret counts again afterwards', async () => {
    const client = newClient()
    await directory.make(client)
    expect(await directory.change(client.providerId, { enabled: false })).toBe(true)
    expect(await statusOf(client.providerId, client.secret)).toBe(false)
    await directory.change(client.providerId, { enabled: true, name: 'Renamed' })
    expect(await statusOf(client.providerId, client.secret)).toBe(true)
    const { name, attributes } = await representationOf(client.providerId)
    expect([name, attributes['certwright.id']]).toEqual(['Renamed', client.apiClientId])
  })

  test('keeps the audience of its tokens', async () => {
    const client = newClient()
    await directory.make(client)
    await directory.change(client.providerId, { name: 'Renamed' })
    const { token = '' } = await tokenOf(client.providerId, client.secret)
    expect([decodeJwt(token).aud].flat()).toContain('certwright')
  })

  test('is told to be missing when nobody has it', async () => {
    expect(await directory.change('nobody', { enabled: true })).toBe(false)
    await expect(directory.setSecret('nobody', 'x')).rejects.toMatchObject({
      message: 'The identity provider has no client nobody.',
      untouched: true,
    })
  })
})

test('a new secret counts at once and the old one no more; what was read brings the old one back', async () => {
  const client = newClient()
  await directory.make(client)
  const former = await directory.secretOf(client.providerId)
  const next = randomUUID()
  await directory.setSecret(client.providerId, next)
  expect(await statusOf(client.providerId, next)).toBe(true)
  expect(await statusOf(client.providerId, client.secret)).toBe(false)
  await directory.setSecret(client.providerId, former)
  expect(await statusOf(client.providerId, client.secret)).toBe(true)
  expect(await statusOf(client.providerId, next)).toBe(false)
})

test('the identity provider makes another secret when it is asked to', async () => {
  const client = newClient()
  await directory.make(client)
  const { id } = await representationOf(client.providerId)
  const { status, body } = await admin('POST', `/clients/${id}/client-secret`)
  expect([status, body.type]).toEqual([200, 'secret'])
  expect(await statusOf(client.providerId, body.value)).toBe(true)
  expect(await statusOf(client.providerId, client.secret)).toBe(false)
})

test('a client that is removed gets no token, and removing it again is nothing', async () => {
  const client = newClient()
  await directory.make(client)
  const { id } = await representationOf(client.providerId)
  await directory.remove(client.providerId)
  expect(await statusOf(client.providerId, client.secret)).toBe(false)
  await directory.remove(client.providerId)
  expect((await admin('GET', `/clients/${id}`)).status).toBe(404)
  expect((await admin('DELETE', `/clients/${id}`)).status).toBe(404)
})

describe('the list of clients', () => {
  const listed = async () => {
    const found = new Map<string, object>()
    for (let first = 0; ; first += 100) {
      const { clients, more } = await directory.listClients(first, 100)
      for (const { providerId, ...client } of clients) found.set(providerId, client)
      if (!more) return found
    }
  }

  test('holds those with a service account, as they are', async () => {
    const [enabled, disabled] = [newClient({ name: 'Listed' }), newClient({ name: 'Closed' })]
    await directory.make(enabled)
    await directory.make(disabled)
    await directory.change(disabled.providerId, { enabled: false })
    const found = await listed()
    expect(found.get(enabled.providerId)).toEqual({ name: 'Listed', enabled: true, ours: true })
    expect(found.get(disabled.providerId)).toEqual({ name: 'Closed', enabled: false, ours: true })
    for (const internal of ['realm-management', 'account', 'admin-cli']) expect(found.has(internal)).toBe(false)
  })

  test('is told apart from what is surely not there', async () => {
    const client = newClient()
    await directory.make(client)
    const gone = `gone-${randomUUID()}`
    expect(await directory.missingClients([client.providerId, gone])).toEqual([gone])
  })
})

describe('trouble', () => {
  const makeAt = (changes: Partial<DirectorySettings>) => openDirectory({ ...settings, ...changes }).make(newClient())

  /** Whatever is sent to it is answered so. */
  const answering = async (status: number | 'DROPS', work: (url: string) => Promise<void>): Promise<void> => {
    const server: Server = createServer((request, response) => {
      if (request.url?.endsWith('/token')) return void response.end('{"access_token":"a"}')
      if (status === 'DROPS') return void request.socket.destroy()
      response.writeHead(status).end('{"error":"the secret word"}')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    try {
      await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  }

  test('without settings it says which are missing', async () => {
    await expect(openDirectory(undefined).remove('any')).rejects.toMatchObject({
      code: 'IDENTITY_PROVIDER_ERROR',
      message: expect.stringContaining('DIRECTORY_URL'),
    })
  })

  test('an identity provider that is not there has done nothing', async () => {
    await expect(makeAt({ url: `http://127.0.0.1:${await freePort()}` })).rejects.toMatchObject({
      message: expect.stringContaining('cannot be reached (ECONNREFUSED)'),
      untouched: true,
    })
  })

  test('a refused login names the settings, and no secret', async () => {
    const attempt = makeAt({ clientSecret: 'a-wrong-secret' })
    await expect(attempt).rejects.toMatchObject({
      message: expect.stringMatching(/refuses the login of the worker \(40[01]\): DIRECTORY_CLIENT_ID/),
      untouched: true,
    })
    await expect(attempt).rejects.not.toMatchObject({ message: expect.stringContaining('a-wrong-secret') })
  })

  test('a client without the role is told which role it lacks', async () => {
    const client = newClient()
    await directory.make(client)
    await expect(makeAt({ clientId: client.providerId, clientSecret: client.secret })).rejects.toMatchObject({
      message: expect.stringContaining('manage-clients'),
      untouched: true,
    })
  })

  test.each([
    [500, false],
    [503, false],
    [400, true],
  ])('an answer %i is told by its number alone', async (status, untouched) => {
    await answering(status, async url => {
      await expect(makeAt({ url })).rejects.toMatchObject({
        message: `The identity provider failed (${status}).`,
        untouched,
      })
    })
  })

  test('a connection that breaks leaves open what was done', async () => {
    await answering('DROPS', async url => {
      await expect(makeAt({ url })).rejects.toMatchObject({
        message: 'The identity provider gave no answer that can be used.',
        untouched: false,
      })
    })
  })
})
