// The embedded OpenID Connect provider: the token path of contract 1.5 on the library oidc-provider, the admin API of its
// clients and users, and the page on which users set their passwords.
import { generateKeyPair, randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { createLocalJWKSet, exportJWK, type JWK } from 'jose'
import type { Adapter, AdapterPayload, Configuration, Provider, ResourceServer } from 'oidc-provider'
import type { AdminApi } from './admin-call.ts'
import { administer, managementRoles } from './identity-admin.ts'
import { type IdentityStore, openIdentityStore } from './identity-store.ts'
import { OidcProvider } from './oidc-library.ts'
import { passwordGrant } from './password-grant.ts'
import { answerPasswordPage, passwordMails, passwordPath } from './password-page.ts'

/** Where the identity provider listens and what it keeps. */
export interface IdentityProviderSettings {
  readonly port: number
  readonly databaseUrl: string
  readonly keyFile: string
  /** The port of the mail server on this machine by which users are written to; without it none are. */
  readonly smtpPort?: number
}

/** The running identity provider with its users and clients. */
export interface IdentityProvider {
  readonly issuer: string
  readonly tokenUrl: string
  /** The address before `/realms` and `/admin`. */
  readonly url: string
  readonly store: IdentityStore
  readonly stop: () => Promise<void>
}

/** The audience of every access token. */
export const tokenAudience = 'certwright'

const realmPath = '/auth/realms/certwright'
const adminPath = '/auth/admin/realms/certwright'
const protocolPath = '/protocol/openid-connect'
const resource = 'urn:certwright'

const tokenSeconds = 300

const apiServer = {
  scope: 'openid profile email',
  audience: tokenAudience,
  accessTokenFormat: 'jwt',
  accessTokenTTL: tokenSeconds,
  jwt: { sign: { alg: 'RS256' } },
} satisfies ResourceServer

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
    email: user?.email ?? undefined,
    given_name: user?.firstName ?? undefined,
    family_name: user?.lastName ?? undefined,
    name: user && [user.firstName, user.lastName].filter(Boolean).join(' '),
  }
}

const serviceAccountClaims = async (store: IdentityStore, clientId: string) => {
  const client = await store.findClient(clientId)
  return {
    sub: client?.serviceAccountId,
    preferred_username: `service-account-${clientId.toLowerCase()}`,
    ...(client?.managesClients && { resource_access: managementRoles }),
  }
}

const configuration = (store: IdentityStore, key: JWK): Configuration => ({
  adapter: adapterFor(store),
  jwks: { keys: [key] },
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  scopes: ['openid', 'profile', 'email'],
  responseTypes: ['code'],
  ttl: { AccessToken: tokenSeconds, ClientCredentials: tokenSeconds, IdToken: tokenSeconds },
  routes: {
    token: `${protocolPath}/token`,
    jwks: `${protocolPath}/certs`,
    userinfo: `${protocolPath}/userinfo`,
    authorization: `${protocolPath}/auth`,
  },
  findAccount: async (_, id) => ({
    accountId: id,
    claims: async () => ({ sub: id, ...(await userClaims(store, id)) }),
  }),
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
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      getResourceServerInfo: () => apiServer,
    },
  },
})

// The library compares plain secrets; ours are hashes.
const compareHashedSecrets = (provider: Provider, store: IdentityStore): void => {
  provider.Client.prototype.compareClientSecret = function (actual: string) {
    return store.clientSecretMatches(this.clientId, actual)
  }
}

const makeProvider = (issuer: string, store: IdentityStore, key: JWK): Provider => {
  const provider = new OidcProvider(issuer, configuration(store, key))
  compareHashedSecrets(provider, store)
  const resourceServer = new provider.ResourceServer(resource, apiServer)
  provider.registerGrantType('password', passwordGrant(provider, store, resourceServer), [
    'username',
    'password',
    'scope',
  ])
  return provider
}

const makeKeyPair = promisify(generateKeyPair)

const makeKey = async (): Promise<JWK> => {
  const { privateKey } = await makeKeyPair('rsa', { modulusLength: 2048 })
  return { ...(await exportJWK(privateKey)), kid: randomUUID(), use: 'sig', alg: 'RS256' }
}

// The RS256 key that signs access tokens: read from its file (mode 0600), or made and written there.
const signingKey = async (file: string): Promise<JWK> => {
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as JWK
  const key = await makeKey()
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.part`, JSON.stringify(key), { mode: 0o600 })
  await rename(`${file}.part`, file)
  return key
}

const publicPart = ({ kty, n, e, kid, alg }: JWK): JWK => ({ kty, n, e, kid, alg }) as JWK

const listen = (server: Server, port: number): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })

// The provider sees the part of the path below the realm; `originalUrl` lets it write whole addresses.
const mounted = (provider: Provider, api: AdminApi): Server => {
  const answer = provider.callback()
  return createServer((request, response) => {
    const url = request.url ?? ''
    if (url.startsWith(`${adminPath}/`)) {
      const path = url.slice(adminPath.length).replace(/\?.*$/, '')
      return void administer(api, { request, response, path })
    }
    if (!url.startsWith(`${realmPath}/`)) {
      response.writeHead(404, { 'content-type': 'text/plain' })
      return response.end(`The identity provider answers below ${realmPath}/\n`)
    }
    const below = url.slice(realmPath.length)
    if (below.split('?')[0] === passwordPath) return void answerPasswordPage(api.store, request, response)
    void answer(Object.assign(request, { originalUrl: url, url: below }), response)
  })
}

/** Starts the identity provider on its own HTTP port. */
export const startIdentityProvider = async (settings: IdentityProviderSettings): Promise<IdentityProvider> => {
  const store = await openIdentityStore(settings.databaseUrl)
  const url = `http://127.0.0.1:${settings.port}`
  const issuer = `${url}${realmPath}`
  const key = await signingKey(settings.keyFile)
  const keys = createLocalJWKSet({ keys: [publicPart(key)] })
  const mailPasswordLink = passwordMails(store, { issuer, smtpPort: settings.smtpPort })
  const server = mounted(makeProvider(issuer, store, key), { store, issuer, keys, mailPasswordLink })
  await listen(server, settings.port)
  return {
    issuer,
    tokenUrl: `${issuer}${protocolPath}/token`,
    url: `${url}/auth`,
    store,
    stop: async () => {
      await new Promise(resolve => {
        server.close(resolve)
        server.closeAllConnections()
      })
      await store.close()
    },
  }
}
