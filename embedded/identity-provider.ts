import { randomBytes } from 'node:crypto'
import { type Server, createServer } from 'node:http'
import type { JWK } from 'jose'
import Provider, { type Adapter, type AdapterPayload, type Configuration, type KoaContextWithOIDC, errors } from 'oidc-provider'
import { type IdentityStore, openIdentityStore } from './identity-store.ts'
import { signingKey } from './signing-key.ts'

/** Where the identity provider listens and what it keeps. */
export interface IdentityProviderSettings {
  readonly port: number
  readonly databaseUrl: string
  readonly keyFile: string
}

/** The running identity provider with its users and clients. */
export interface IdentityProvider {
  readonly issuer: string
  readonly tokenUrl: string
  readonly store: IdentityStore
  readonly stop: () => Promise<void>
}

/** The audience of every access token. */
export const AUDIENCE = 'certwright'

const REALM_PATH = '/auth/realms/certwright'
const PROTOCOL_PATH = '/protocol/openid-connect'
const RESOURCE = 'urn:certwright'
const TOKEN_SECONDS = 300

// Access tokens are signed values that nothing has to remember, so only clients are ever looked up.
const adapterFor = (store: IdentityStore) =>
  class implements Adapter {
    #model: string

    constructor(model: string) {
      this.#model = model
    }

    async find(id: string): Promise<AdapterPayload | undefined> {
      const client = this.#model === 'Client' ? await store.findClient(id) : undefined
      if (!client?.enabled) return undefined
      return {
        client_id: client.clientId,
        client_secret: 'kept as a hash', // compared by `compareClientSecret` below
        grant_types: ['password', 'client_credentials'],
        redirect_uris: [],
        response_types: [],
      }
    }

    async upsert() {}
    async findByUserCode() {}
    async findByUid() {}
    async consume() {}
    async destroy() {}
    async revokeByGrantId() {}
  }

const userClaims = async (store: IdentityStore, id: string) => {
  const user = await store.findUser(id)
  return {
    preferred_username: user?.username,
    email: user?.email,
    given_name: user?.firstName,
    family_name: user?.lastName,
    name: user && `${user.firstName} ${user.lastName}`,
  }
}

const serviceAccountClaims = async (store: IdentityStore, clientId: string) => ({
  sub: (await store.findClient(clientId))?.serviceAccountId,
  preferred_username: `service-account-${clientId.toLowerCase()}`,
})

const configuration = (store: IdentityStore, key: JWK): Configuration => ({
  adapter: adapterFor(store),
  jwks: { keys: [key] } as NonNullable<Configuration['jwks']>,
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  scopes: ['openid', 'profile', 'email'],
  routes: {
    token: `${PROTOCOL_PATH}/token`,
    jwks: `${PROTOCOL_PATH}/certs`,
    userinfo: `${PROTOCOL_PATH}/userinfo`,
    authorization: `${PROTOCOL_PATH}/auth`,
  },
  findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id, ...(await userClaims(store, id)) }) }),
  formats: {
    customizers: {
      jwt: async (_, token, { payload }) => {
        const claims =
          token.kind === 'AccessToken'
            ? await userClaims(store, String(payload.sub))
            : await serviceAccountClaims(store, String(token.clientId))
        Object.assign(payload, { azp: token.clientId, ...claims })
      },
    },
  },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      getResourceServerInfo: () => ({
        scope: 'openid profile email',
        audience: AUDIENCE,
        accessTokenFormat: 'jwt',
        accessTokenTTL: TOKEN_SECONDS,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
})

const idTokenFor = (provider: Provider, ctx: KoaContextWithOIDC, subject: string) => {
  const token = new provider.IdToken({ sub: subject }, { ctx })
  return token.issue({ use: 'idtoken' })
}

// RFC 6749 4.3, with the error codes of 5.2.
const passwordGrant = (provider: Provider, store: IdentityStore) => async (ctx: KoaContextWithOIDC) => {
  const { username, password, scope } = ctx.oidc.params as Record<string, string | undefined>
  if (!username || !password) throw new errors.InvalidRequest('username and password are required')
  const user = await store.findUserByPassword(username, password)
  if (user === undefined) throw new errors.InvalidGrant('Invalid user credentials')
  const { client } = ctx.oidc
  if (client === undefined) throw new errors.InvalidClient('a client is required')
  const token = new provider.AccessToken({ accountId: user.id, client, gty: 'password', ...(scope && { scope }) })
  const server = await provider_resource(provider)
  token.resourceServer = server
  ctx.body = {
    access_token: await token.save(),
    expires_in: TOKEN_SECONDS,
    token_type: 'Bearer',
    scope: scope ?? 'openid',
    ...(scope?.split(' ').includes('openid') && { id_token: await idTokenFor(provider, ctx, user.id) }),
  }
}
