// The OAuth 2.0 password grant of the embedded identity provider.
import { randomUUID } from 'node:crypto'
import type { KoaContextWithOIDC, Provider, ResourceServerInstance } from 'oidc-provider'
import type { IdentityStore } from './identity-store.ts'
import { noPasswordRole } from './identity-users.ts'
import { oauthErrors as errors } from './oidc-library.ts'

const openid = 'openid'

const tokensFor = async (provider: Provider, ctx: KoaContextWithOIDC, accountId: string) => {
  const { client, params } = ctx.oidc
  if (client === undefined) throw new errors.InvalidClient('a client is required')
  const scope = typeof params?.['scope'] === 'string' ? params['scope'] : openid
  const accessToken = new provider.AccessToken({ accountId, client, gty: 'password', grantId: randomUUID(), scope })
  // The library names the subject only in tokens whose scope it knows.
  const idToken = Object.assign(new provider.IdToken({ sub: accountId }, { ctx }), { scope: openid })
  return { scope, accessToken, idToken }
}

/** The resource owner password credentials grant of RFC 6749 4.3, with the errors of its 5.2. */
export const passwordGrant =
  (provider: Provider, store: IdentityStore, resourceServer: ResourceServerInstance) =>
  async (ctx: KoaContextWithOIDC): Promise<void> => {
    const { username, password } = ctx.oidc.params ?? {}
    if (typeof username !== 'string' || typeof password !== 'string') {
      throw new errors.InvalidRequest('username and password are required')
    }
    const user = await store.findUserByPassword(username, password)
    if (user === undefined) throw new errors.InvalidGrant('the user name or the password is wrong')
    const roles = await store.rolesOf(user.id)
    if (roles.some(({ name }) => name === noPasswordRole))
      throw new errors.InvalidGrant('the user may not log in by password')
    const { scope, accessToken, idToken } = await tokensFor(provider, ctx, user.id)
    accessToken.resourceServer = resourceServer
    ctx.body = {
      access_token: await accessToken.save(),
      expires_in: accessToken.expiration,
      token_type: 'Bearer',
      scope,
      ...(scope.split(' ').includes(openid) && { id_token: await idToken.issue({ use: 'idtoken' }) }),
    }
  }
