// The clients of the identity provider, by the admin REST API of Keycloak.
import { forEach, longPatienceMs, statusOf, type Admin, type Asking, type DirectorySettings } from './connection.ts'
import { DirectoryTrouble, foreignClient, noSuchClient } from './trouble.ts'

/** A client that is to be made. */
export interface NewDirectoryClient {
  readonly providerId: string
  readonly apiClientId: string
  readonly name: string
  readonly secret: string
}

/** A client with a service account, as the identity provider knows it. */
export interface DirectoryClient {
  readonly providerId: string
  readonly name: string | null
  readonly enabled: boolean
  /** Whether a run of ours made it, or is making it. */
  readonly ours: boolean
}

/** A part of a list. */
export interface ClientPage {
  readonly clients: readonly DirectoryClient[]
  /** Whether there may be more behind it. */
  readonly more: boolean
}

/** The clients of the identity provider, by their client ids. */
export interface DirectoryClients {
  /** Makes a client; one that an earlier attempt made is completed. */
  readonly make: (client: NewDirectoryClient) => Promise<void>
  /** Changes a client and answers whether there is one. */
  readonly change: (providerId: string, members: { name?: string; enabled?: boolean }) => Promise<boolean>
  readonly secretOf: (providerId: string) => Promise<string>
  readonly setSecret: (providerId: string, secret: string) => Promise<void>
  /** Removes a client if there is one. */
  readonly remove: (providerId: string) => Promise<void>
  /** A page of the clients with a service account, in no order that lasts. */
  readonly listClients: (first: number, max: number) => Promise<ClientPage>
  /** Those of these clients that surely have no service account there. */
  readonly missingClients: (providerIds: readonly string[]) => Promise<readonly string[]>
}

/** Where a client keeps the id of its record. */
const ownerAttribute = 'certwright.id'

type Representation = NonNullable<Awaited<ReturnType<Admin['clients']['findOne']>>>
type Known = Representation & { readonly id: string }

const find = async (admin: Admin, clientId: string): Promise<Known | undefined> => {
  const found = await admin.clients.find({ clientId })
  const client = found.find(one => one.clientId === clientId)
  return client?.id === undefined ? undefined : { ...client, id: client.id }
}

const mustFind = async (admin: Admin, clientId: string): Promise<Known> => {
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

const make = async (admin: Admin, wanted: Representation): Promise<void> => {
  try {
    await admin.clients.create(wanted)
  } catch (error) {
    if (statusOf(error) !== 409) throw error
    const there = await mustFind(admin, wanted.clientId ?? '')
    if (there.attributes?.[ownerAttribute] !== wanted.attributes?.[ownerAttribute])
      throw foreignClient(wanted.clientId ?? '')
    await admin.clients.update({ id: there.id }, { ...there, ...wanted })
  }
}

const secretOf = async (admin: Admin, providerId: string): Promise<string> => {
  const { id } = await mustFind(admin, providerId)
  const { value } = await admin.clients.getClientSecret({ id })
  if (!value) throw new DirectoryTrouble(`The client ${providerId} has no secret at the identity provider.`, true)
  return value
}

/** Clients that Keycloak makes for itself. */
const internal = new Set([
  'account',
  'account-console',
  'admin-cli',
  'broker',
  'realm-management',
  'security-admin-console',
])

const isMachine = ({ clientId, serviceAccountsEnabled }: Representation): boolean =>
  serviceAccountsEnabled === true && clientId !== undefined && !internal.has(clientId)

const listed = ({ clientId = '', name, enabled, attributes }: Representation): DirectoryClient => ({
  providerId: clientId,
  name: name?.trim() || null,
  enabled: enabled !== false,
  ours: attributes?.[ownerAttribute] !== undefined,
})

const list = async (admin: Admin, first: number, max: number): Promise<ClientPage> => {
  const found = await admin.clients.find({ first, max })
  return { clients: found.filter(isMachine).map(listed), more: found.length > 0 }
}

const missing = async (admin: Admin, providerIds: readonly string[]): Promise<string[]> => {
  const found = await forEach(providerIds, id => find(admin, id))
  return providerIds.filter((_, index) => found[index]?.serviceAccountsEnabled !== true)
}

/** The clients of the identity provider. */
export const clientsOf = (asking: Asking): DirectoryClients => ({
  make: client => asking((admin, settings) => make(admin, representationOf(client, settings))),
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
  listClients: (first, max) => asking(admin => list(admin, first, max), longPatienceMs),
  missingClients: providerIds => asking(admin => missing(admin, providerIds), longPatienceMs),
})
