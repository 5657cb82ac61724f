// The embedded identity provider issues and refuses tokens as a real one does.
import { expect, test } from '@jest/globals'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { type IdentityStore, openIdentityStore } from '../../embedded/servers/identity-store.ts'
import { LOGIN_CLIENT, createClient, createUser, stack, tokenFor } from '../support/stack.ts'

const ask = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
  const response = await fetch(stack.tokenUrl(), { method: 'POST', body: new URLSearchParams(fields), headers })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

const login = { client_id: LOGIN_CLIENT.clientId, client_secret: LOGIN_CLIENT.secret, scope: 'openid' }

const withStore = async <T>(work: (store: IdentityStore) => Promise<T>) => {
  const store = await openIdentityStore(stack.identityDatabaseUrl())
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

test('a user gets a signed token with password and client', async () => {
  const user = await createUser({ firstName: 'Grace', lastName: 'Hopper' })
  const token = await tokenFor(user)
  const keys = createRemoteJWKSet(new URL(`${stack.issuer()}/protocol/openid-connect/certs`))
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: stack.issuer(),
    audience: 'certwright',
    algorithms: ['RS256'],
  })
  expect(protectedHeader.alg).toBe('RS256')
  expect(payload).toMatchObject({
    sub: user.id,
    azp: LOGIN_CLIENT.clientId,
    client_id: LOGIN_CLIENT.clientId,
    preferred_username: user.username,
    email: user.email,
    given_name: 'Grace',
    family_name: 'Hopper',
  })
})

test('the answer to the password grant with scope openid holds an ID token of the user', async () => {
  const { id, username, password } = await createUser()
  const { status, body } = await ask({ grant_type: 'password', username, password, ...login })
  expect(status).toBe(200)
  expect(body).toMatchObject({ token_type: 'Bearer', scope: 'openid', expires_in: 300 })
  expect(decodeJwt(body['id_token'] ?? '').sub).toBe(id)
})

test('a user may log in with the e-mail address', async () => {
  const { email, password } = await createUser()
  expect((await ask({ grant_type: 'password', username: email, password, ...login })).status).toBe(200)
})

test('a client gets a token of its service account, with the same subject every time', async () => {
  const client = await createClient()
  const [first, second] = [decodeJwt(await tokenFor(client)), decodeJwt(await tokenFor(client))]
  expect(first).toMatchObject({
    sub: client.serviceAccountId,
    aud: 'certwright',
    azp: client.clientId,
    client_id: client.clientId,
    preferred_username: `service-account-${client.clientId}`,
  })
  expect(second.sub).toBe(first.sub)
})

test('a client may authenticate by HTTP Basic', async () => {
  const { clientId, secret } = await createClient()
  const authorization = `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`
  expect((await ask({ grant_type: 'client_credentials' }, { authorization })).status).toBe(200)
})

test('a wrong password is invalid_grant', async () => {
  const { username } = await createUser()
  const { status, body } = await ask({ grant_type: 'password', username, password: 'wrong', ...login })
  expect([status, body['error']]).toEqual([400, 'invalid_grant'])
})

test('an unknown user is invalid_grant', async () => {
  const { status, body } = await ask({ grant_type: 'password', username: 'nobody', password: 'x', ...login })
  expect([status, body['error']]).toEqual([400, 'invalid_grant'])
})

test('a missing password is invalid_request', async () => {
  const { status, body } = await ask({ grant_type: 'password', username: 'x', ...login })
  expect([status, body['error']]).toEqual([400, 'invalid_request'])
})

test('a disabled user is refused', async () => {
  const user = await createUser()
  await withStore(store => store.upsertUser({ ...user, enabled: false }))
  await expect(tokenFor(user)).rejects.toThrow('invalid_grant')
})

test('an unknown client, a wrong secret and a disabled client are invalid_client', async () => {
  const { clientId, secret } = await createClient()
  await withStore(store => store.upsertClient({ clientId, enabled: false }))
  const attempts = [
    { client_id: 'unknown', client_secret: 'x' },
    { client_id: LOGIN_CLIENT.clientId, client_secret: 'wrong' },
    { client_id: clientId, client_secret: secret },
  ]
  for (const attempt of attempts) {
    const { status, body } = await ask({ grant_type: 'client_credentials', ...attempt })
    expect([status, body['error']]).toEqual([401, 'invalid_client'])
  }
})

test('the discovery document names token endpoint and keys below the issuer', async () => {
  const response = await fetch(`${stack.issuer()}/.well-known/openid-configuration`)
  expect(await response.json()).toMatchObject({
    issuer: stack.issuer(),
    token_endpoint: `${stack.issuer()}/protocol/openid-connect/token`,
    jwks_uri: `${stack.issuer()}/protocol/openid-connect/certs`,
  })
})

test('a path outside the realm is 404', async () => {
  expect((await fetch(new URL('/other', stack.issuer()))).status).toBe(404)
})

test('passwords and secrets are kept as scrypt hashes only', async () => {
  const { Client } = await import('pg')
  const user = await createUser()
  const client = new Client({ connectionString: stack.identityDatabaseUrl() })
  await client.connect()
  const { rows } = await client.query('SELECT * FROM identity_user WHERE id = $1', [user.id])
  await client.end()
  expect(JSON.stringify(rows)).not.toContain(user.password)
  expect(rows[0].password_hash).toMatch(/^scrypt\$/)
})
