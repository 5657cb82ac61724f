// The clients of the identity provider through the admin REST API of Keycloak: the one place that speaks it.
import KeycloakAdminClient from '@keycloak/keycloak-admin-client'
import {
  DirectoryTrouble,
  foreignClient,
  isBroken,
  loginTroubleOf,
  noSuchClient,
  notConfigured,
  troubleOf,
} from './trouble.ts'

/** How the worker reaches the identity provider as its administrator of clients. */
export interface DirectorySettings {
  /** The address before `/realms` and `/admin`. */
  readonly url: string
  readonly realm: string
  readonly clientId: string
  readonly clientSecret: string
  /** What the tokens of new clients are for, besides what the realm says; absent: nothing. */
  readonly audience?: string | undefined
}

/** A client that is to be made. */
export interface NewDirectoryClient {
  readonly providerId: string
  readonly apiClientId: string
  readonly name: string
  readonly secret: string
}

/** The clients of the identity provider, by their client ids. */
export interface Directory {
  /** Makes a client; one that an earlier attempt made is completed. */
  readonly make: (client: NewDirectoryClient) => Promise<void>
  /** Changes a client and answers whether there is one. */
  readonly change: (providerId: string, members: { name?: string; enabled?: boolean }) => Promise<boolean>
  readonly secretOf: (providerId: string) => Promise<string>
  readonly setSecret: (providerId: string, secret: string) => Promise<void>
  /** Removes a client if there is one. */
  readonly remove: (providerId: string) => Promise<void>
  /** The client that this directory is asked as. */
  readonly ownClientId: string | undefined
}

/** One request may take so long; an activity makes at most four, and its attempt has 10 s. */
const patienceMs = 4000

/** Where a client keeps the id of its record. */
const ownerAttribute = 'certwright.id'

const connect = async ({ url, realm, clientId, clientSecret }: DirectorySettings): Promise<KeycloakAdminClient> => {
  const requestOptions = { redirect: 'error' as const, signal: AbortSignal.timeout(2 * patienceMs) }
  const admin = new KeycloakAdminClient({ baseUrl: url.replace(/\/$/, ''), realmName: realm, requestOptions })
  const login = () => admin.auth({ grantType: 'client_credentials', clientId, clientSecret })
  try {
    // A connection of before may have been closed meanwhile: a login does no harm, so it is tried anew.
    await login().catch((error: unknown) => (isBroken(error) ? login() : Promise.reject(error as Error)))
  } catch (error) {
    throw loginTroubleOf(error)
  }
  return admin
}

type Representation = NonNullable<Awaited<ReturnType<KeycloakAdminClient['clients']['findOne']>>>
type Known = Representation & { readonly id: string }

const find = async (admin: KeycloakAdminClient, clientId: string): Promise<Known | undefined> => {
  const found = await admin.clients.find({ clientId })
  const client = found.find(one => one.clientId === clientId)
  return client?.id === undefined ? undefined : { ...client, id: client.id }
}

const mustFind = async (admin: KeycloakAdminClient, clientId: string): Promise<Known> => {
  const client = await find(admin, clientId)
  if (!client) throw noSuchClient(clientId)
  return client
}

const audienceMapper = (audience: string) => ({
  name: 'audience',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.custom.audience': audience, 'access.token.claim': 'true' },
})

/** A confidential client with a service account and no other way in. */
const representationOf = (
  { providerId, apiClientId, name, secret }: NewDirectoryClient,
  { audience }: DirectorySettings,
): Representation => ({
  clientId: providerId,
  name,
  secret,
  enabled: true,
  protocol: 'openid-connect',
  publicClient: false,
  standardFlowEnabled: false,
  implicitFlowEnabled: false,
  directAccessGrantsEnabled: false,
  serviceAccountsEnabled: true,
  fullScopeAllowed: false,
  attributes: { [ownerAttribute]: apiClientId },
  ...(audience !== undefined && { protocolMappers: [audienceMapper(audience)] }),
})

const isTaken = (error: unknown): boolean => (error as { response?: { status?: number } }).response?.status === 409

const make = async (admin: KeycloakAdminClient, wanted: Representation): Promise<void> => {
  try {
    await admin.clients.create(wanted)
  } catch (error) {
    if (!isTaken(error)) throw error
    const there = await mustFind(admin, wanted.clientId ?? '')
    if (there.attributes?.[ownerAttribute] !== wanted.attributes?.[ownerAttribute])
      throw foreignClient(wanted.clientId ?? '')
    await admin.clients.update({ id: there.id }, { ...there, ...wanted })
  }
}

const secretOf = async (admin: KeycloakAdminClient, providerId: string): Promise<string> => {
  const { id } = await mustFind(admin, providerId)
  const { value } = await admin.clients.getClientSecret({ id })
  if (!value) throw new DirectoryTrouble(`The client ${providerId} has no secret at the identity provider.`, true)
  return value
}

/** The clients of the identity provider; without settings every call says what is missing. */
export const openDirectory = (settings: DirectorySettings | undefined): Directory => {
  const asking = async <T>(ask: (admin: KeycloakAdminClient) => Promise<T>): Promise<T> => {
    if (!settings) throw notConfigured()
    try {
      return await ask(await connect(settings))
    } catch (error) {
      throw troubleOf(error)
    }
  }
  return {
    make: client => asking(admin => make(admin, representationOf(client, settings as DirectorySettings))),
    change: (providerId, members) =>
      asking(async admin => {
        const client = await find(admin, providerId)
        if (client) await admin.clients.update({ id: client.id }, { ...client, ...members })
        return client !== undefined
      }),
    secretOf: providerId => asking(admin => secretOf(admin, providerId)),
    setSecret: (providerId, secret) =>
      asking(async admin => {
        const client = await mustFind(admin, providerId)
        await admin.clients.update({ id: client.id }, { ...client, secret })
      }),
    remove: providerId =>
      asking(async admin => {
        const client = await find(admin, providerId)
        if (client) await admin.clients.del({ id: client.id })
      }),
    ownClientId: settings?.clientId,
  }
}
