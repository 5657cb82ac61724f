// What tests make and look up at the identity provider, whichever it is: the embedded one, through its records, or a real
// Keycloak (`npm run test:keycloak`), through its administrator.
import type KeycloakAdminClient from '@keycloak/keycloak-admin-client'
import { openIdentityStore } from '../../embedded/servers/identity-store.ts'
import { keycloakAdmin } from './keycloak.ts'

interface UserInput {
  /** The subject; a new one unless stated, which Keycloak alone decides. */
  readonly id?: string
  readonly username: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly password?: string
}

/** A user as both providers know it. */
export interface KnownUser {
  readonly id: string
  readonly username: string
  readonly email?: string | null | undefined
  readonly enabled: boolean
}

interface ClientInput {
  readonly clientId: string
  readonly secret: string
  /** Whether it may write users and clients. */
  readonly managesClients?: boolean
}

/** A client as both providers know it. */
export interface KnownClient {
  readonly clientId: string
  readonly name: string | null
  readonly enabled: boolean
  readonly attributes: Readonly<Record<string, string>>
}

/** The identity provider of the test run, as its owner sees it. */
export interface Identities {
  readonly upsertUser: (input: UserInput) => Promise<KnownUser>
  readonly findUser: (id: string) => Promise<KnownUser | undefined>
  readonly listUsers: (
    filter: { readonly email: string; readonly exact: true },
    first: number,
    max: number,
  ) => Promise<readonly KnownUser[]>
  /** The roles that were given to a user alone. */
  readonly rolesOf: (id: string) => Promise<readonly { readonly name: string }[]>
  readonly removeUser: (id: string) => Promise<void>
  readonly upsertClient: (input: ClientInput) => Promise<{ readonly serviceAccountId: string }>
  readonly findClient: (clientId: string) => Promise<KnownClient | undefined>
  readonly listClients: (first: number, max: number) => Promise<readonly KnownClient[]>
  readonly close: () => Promise<void>
}

type Representation = Awaited<ReturnType<KeycloakAdminClient['clients']['find']>>[0]

const known = ({ clientId = '', name, enabled = false, attributes = {} }: Representation): KnownClient => ({
  clientId,
  name: name ?? null,
  enabled,
  attributes,
})

const managing = ['manage-clients', 'manage-users', 'view-realm']

const mayManage = async (admin: KeycloakAdminClient, userId: string): Promise<void> => {
  const [management] = await admin.clients.find({ clientId: 'realm-management' })
  const id = management?.id ?? ''
  const roles = await admin.clients.listRoles({ id })
  const given = roles.filter(({ name }) => managing.includes(name ?? ''))
  const wanted = given.map(role => ({ id: role.id ?? '', name: role.name ?? '' }))
  await admin.users.addClientRoleMappings({ id: userId, clientUniqueId: id, roles: wanted })
}

const audience = {
  name: 'audience',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.custom.audience': 'certwright', 'access.token.claim': 'true' },
}

const upsertClient = async (admin: KeycloakAdminClient, input: ClientInput) => {
  const { clientId, secret, managesClients = false } = input
  const ways = { publicClient: false, directAccessGrantsEnabled: true, serviceAccountsEnabled: true }
  const [before] = await admin.clients.find({ clientId })
  const wanted = { clientId, secret, enabled: true, ...ways, protocolMappers: [audience] }
  const id = before?.id ?? (await admin.clients.create(wanted)).id
  if (before) await admin.clients.update({ id }, { ...before, ...ways, secret })
  const { id: serviceAccountId = '' } = await admin.clients.getServiceAccountUser({ id })
  if (managesClients) await mayManage(admin, serviceAccountId)
  return { serviceAccountId }
}

const upsertUser = async (admin: KeycloakAdminClient, { password, ...user }: UserInput) => {
  const credentials = password === undefined ? [] : [{ type: 'password', value: password, temporary: false }]
  const { id } = await admin.users.create({ ...user, enabled: true, emailVerified: true, credentials })
  return { ...user, id, enabled: true }
}

type UserRepresentation = Awaited<ReturnType<KeycloakAdminClient['users']['find']>>[0]

const knownUser = ({ id = '', username = '', email, enabled = false }: UserRepresentation): KnownUser => ({
  id,
  username,
  email,
  enabled,
})

const usersOf = (asking: Asking) => ({
  upsertUser: (input: UserInput) => asking(admin => upsertUser(admin, input)),
  findUser: (id: string) =>
    asking(async admin => {
      const found = await admin.users.findOne({ id })
      return found && knownUser(found)
    }),
  listUsers: (filter: { readonly email: string; readonly exact: true }, first: number, max: number) =>
    asking(async admin => (await admin.users.find({ ...filter, first, max })).map(knownUser)),
  rolesOf: (id: string) =>
    asking(async admin => {
      const roles = await admin.users.listRealmRoleMappings({ id })
      // Everybody has these.
      return roles.map(({ name = '' }) => ({ name })).filter(({ name }) => !name.startsWith('default-roles-'))
    }),
  removeUser: (id: string) => asking(admin => admin.users.del({ id })),
})

type Asking = <T>(ask: (admin: KeycloakAdminClient) => Promise<T>) => Promise<T>

/** An administrator's token lives for a minute: each call logs in anew. */
const ofKeycloak = (url: string): Identities => {
  const asking: Asking = async ask => ask(await keycloakAdmin(url))
  return {
    ...usersOf(asking),
    upsertClient: input => asking(admin => upsertClient(admin, input)),
    findClient: clientId =>
      asking(async admin => {
        const [found] = await admin.clients.find({ clientId })
        return found && known(found)
      }),
    listClients: (first, max) => asking(async admin => (await admin.clients.find({ first, max })).map(known)),
    close: async () => undefined,
  }
}

/** Opens the one of the test run; `close()` it at the end. */
export const openIdentities = async (): Promise<Identities> => {
  const database = process.env['TEST_IDENTITY_DATABASE_URL']
  return database ? openIdentityStore(database) : ofKeycloak(process.env['TEST_DIRECTORY_URL'] ?? '')
}
