// Which tokens the kernel accepts (contract 1.5).
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { authenticateWith, factsOf } from '../../api/kernel/authentication.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { User } from '../../storage/rows/user.ts'
import { startApi, type Api } from '../support/api.ts'

const path = '/api/v1/authenticated-principal/'
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const isRefused = async (token: string): Promise<void> => {
  const { status, body, headers } = await api.as(token).get(path)
  expect([status, body.apiError]).toEqual([401, 'AUTHENTICATION_FAILED'])
  expect(headers.get('www-authenticate')).toBe('Bearer')
}

describe('a token is refused when', () => {
  const claims = { sub: 'somebody' }
  test('there is none', async () => {
    const { status, body } = await api.anonymous.get(path)
    expect([status, body.apiError]).toEqual([401, 'AUTHENTICATION_FAILED'])
  })
  test('it is no JWT', () => isRefused('abc'))
  test('it is expired', async () => isRefused(await api.issuer.token({ claims, expiresIn: -61 })))
  test('it never expires', async () => {
    const [header, , signature] = (await api.issuer.token({ claims })).split('.')
    await isRefused(`${header}.${encoded({ ...claims, iss: api.issuer.issuer })}.${signature}`)
  })
  test('it is not valid yet', async () => {
    const nbf = Math.floor(Date.now() / 1000) + 120
    await isRefused(await api.issuer.token({ claims: { ...claims, nbf } }))
  })
  test('another issuer made it', async () =>
    isRefused(await api.issuer.token({ claims, issuer: 'https://other.example' })))
  test('another key signed it', async () => isRefused(await api.issuer.foreignToken({ claims })))
  test('its algorithm is none', async () => {
    const body = { ...claims, iss: api.issuer.issuer, exp: Math.floor(Date.now() / 1000) + 300 }
    await isRefused(`${encoded({ alg: 'none' })}.${encoded(body)}.`)
  })
  test('the public key was used as an HMAC secret', async () => isRefused(await api.issuer.confusedToken({ claims })))
  test('its claims were changed', async () => {
    const [header, body = '', signature] = (await api.issuer.token({ claims })).split('.')
    const changed = { ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: 'admin' }
    await isRefused(`${header}.${encoded(changed)}.${signature}`)
  })
  test('it names no subject', async () => isRefused(await api.issuer.token()))
  test('it is an ID token', async () => isRefused(await api.issuer.token({ claims: { ...claims, typ: 'ID' } })))
  test('its user name only pretends to be a service account', async () =>
    isRefused(
      await api.issuer.token({ claims: { ...claims, azp: 'other', preferred_username: 'service-account-admin' } }),
    ))
})

test('expiry has a tolerance of 60 s', async () => {
  const token = await api.issuer.token({ claims: { sub: 'late' }, expiresIn: -50 })
  expect((await api.as(token).get(path)).status).toBe(200)
})

test('an unknown user is created with names and e-mail and without grants', async () => {
  const names = { given_name: 'Ada', family_name: 'Byron', email: 'ada@example.com' }
  const token = await api.issuer.userToken('ada', names)
  const first = await api.as(token).get(path)
  const second = await api.as(token).get(path)
  expect(first.body).toMatchObject({ authenticatedPrincipalType: 'USER', globalPermissions: [] })
  expect(second.body.id).toBe(first.body.id)
  const user = await api.em().findOneOrFail(User, { id: first.body.id })
  expect(user).toMatchObject({ providerId: 'ada', firstName: 'Ada', lastName: 'Byron', email: 'ada@example.com' })
})

test('a service account is an API client', async () => {
  const { body } = await api.as(await api.issuer.clientToken('robot')).get(path)
  expect(body.authenticatedPrincipalType).toBe('API_CLIENT')
  expect((await api.em().findOneOrFail(ApiClient, { id: body.id })).providerId).toBe('robot')
})

test('many first calls of one subject make one record', async () => {
  const token = await api.issuer.userToken('crowd')
  const replies = await Promise.all(Array.from({ length: 5 }, () => api.as(token).get(path)))
  expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1)
})

test('a disabled principal gets 401 PRINCIPAL_DISABLED', async () => {
  const user = await api.user()
  await api.em().nativeUpdate(User, { id: user.id }, { enabled: false })
  const { status, body } = await user.get(path)
  expect([status, body.apiError]).toEqual([401, 'PRINCIPAL_DISABLED'])
})

test('the caller sees the own global permissions', async () => {
  const user = await api.user({ GLOBAL: ['ADMIN', 'USERS_READ'] })
  const { body } = await user.get(path)
  expect(new Set(body.globalPermissions)).toEqual(new Set(['ADMIN', 'USERS_READ']))
})

test('an audience is accepted in aud or azp where one is asked for', async () => {
  const { issuer } = api.issuer
  const authenticate = authenticateWith({ issuer, audiences: ['certwright'], algorithms: ['ES256'] })
  const header = async (more: object) => `Bearer ${await api.issuer.token({ claims: { sub: 'a', ...more } })}`
  await expect(authenticate(await header({ aud: ['x', 'certwright'] }))).resolves.toMatchObject({ subject: 'a' })
  await expect(authenticate(await header({ azp: 'certwright' }))).resolves.toMatchObject({ subject: 'a' })
  await expect(authenticate(await header({ aud: 'x', azp: 'y' }))).rejects.toMatchObject({
    code: 'AUTHENTICATION_FAILED',
  })
})

test('an identity provider that cannot be reached is not the fault of the token', async () => {
  const rules = { issuer: 'http://127.0.0.1:1', audiences: [], algorithms: ['ES256'] }
  const attempt = authenticateWith(rules)(`Bearer ${await api.issuer.token({ issuer: rules.issuer })}`)
  await expect(attempt).rejects.toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
    cause: { message: expect.stringContaining('cannot be reached') },
  })
})

test('the facts of a client come from client_id before azp', () => {
  expect(factsOf({ client_id: 'Robot', azp: 'other', preferred_username: 'service-account-robot' })).toEqual({
    kind: 'API_CLIENT',
    clientId: 'Robot',
  })
})
