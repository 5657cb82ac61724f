// The realm that docker compose gives Keycloak (keycloak/realm.json), on a real one: `npm run test:keycloak`. What the
// service does with it is tested by the same files as with the embedded provider.
import { randomUUID } from 'node:crypto'
import KeycloakAdminClient from '@keycloak/keycloak-admin-client'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { decodeJwt } from 'jose'
import { getToken } from '../../embedded/rest-client.ts'
import { realmSecrets } from '../support/keycloak.ts'
import { createUser, stack, tokenFor } from '../support/stack.ts'

const role = 'disable_password_login'
let directory: KeycloakAdminClient

/** As the worker logs in where docker compose has started everything. */
beforeAll(async () => {
  directory = new KeycloakAdminClient({ baseUrl: stack.directoryUrl(), realmName: 'certwright' })
  const clientSecret = realmSecrets.DIRECTORY_CLIENT_SECRET
  await directory.auth({ grantType: 'client_credentials', clientId: 'certwright-directory', clientSecret })
})

const statusOf = (asked: Promise<unknown>): Promise<number | undefined> =>
  asked.then(
    () => 200,
    (error: { response?: { status?: number } }) => error.response?.status,
  )

describe('the client of the worker', () => {
  test('writes clients and users, and reads roles', async () => {
    const { id } = await directory.clients.create({ clientId: `made-${randomUUID()}` })
    await directory.clients.del({ id })
    const username = `made-${randomUUID()}`
    const user = await directory.users.create({ username, attributes: { 'certwright.id': ['one'] } })
    expect(await directory.users.findOne({ id: user.id })).toMatchObject({
      username,
      attributes: { 'certwright.id': ['one'] },
    })
    await directory.users.del({ id: user.id })
    expect(await directory.roles.findOneByName({ name: role })).toMatchObject({ name: role })
  })

  test('changes neither the realm nor its roles, and acts as nobody else', async () => {
    const { id } = await createUser()
    expect([
      await statusOf(directory.realms.update({ realm: 'certwright' }, { displayName: 'Mine' })),
      await statusOf(directory.roles.create({ name: 'made' })),
      await statusOf(directory.users.impersonation({ id }, { user: id, realm: 'certwright' })),
      await statusOf(directory.realms.findOne({ realm: 'master' })),
    ]).toEqual([403, 403, 403, 403])
  })
})

test('the administrators’ client gets tokens for the service', async () => {
  const clientSecret = realmSecrets.ADMIN_CLIENT_SECRET
  const token = await getToken(stack.tokenUrl(), { clientId: 'certwright-admin', clientSecret })
  expect([decodeJwt(token).aud].flat()).toContain('certwright')
})

test('a user with the role disable_password_login cannot log in by password until it is taken away', async () => {
  const user = await createUser()
  expect(decodeJwt(await tokenFor(user)).sub).toBe(user.id)
  const { id = '' } = (await directory.roles.findOneByName({ name: role })) ?? {}
  await directory.users.addRealmRoleMappings({ id: user.id, roles: [{ id, name: role }] })
  await expect(tokenFor(user)).rejects.toThrow('401')
  await directory.users.delRealmRoleMappings({ id: user.id, roles: [{ id, name: role }] })
  expect(decodeJwt(await tokenFor(user)).sub).toBe(user.id)
})
