// The addresses of the test run's servers, and the users and clients that tests make there.
import { randomUUID } from 'node:crypto'
import type { DirectorySettings } from '../../activities/directory/keycloak.ts'
import { getToken } from '../../embedded/rest-client.ts'
import { openIdentities, type Identities } from './identities.ts'

/** A user of the identity provider, with the password that the tests know. */
export interface TestUser {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly password: string
}

/** A client of the identity provider, with the secret that the tests know. */
export interface TestClient {
  readonly clientId: string
  readonly serviceAccountId: string
  readonly secret: string
}

/** The client through which test users log in. */
export const LOGIN_CLIENT = { clientId: 'test-login', secret: 'test-login-secret' } as const

/** The client by which the workers of tests make API clients. */
export const DIRECTORY_CLIENT = { clientId: 'test-directory', secret: 'test-directory-secret' } as const

const variable = (name: string): string => {
  const value = process.env[name]
  if (value) return value
  throw new Error(
    `${name} is not set: the test stack is started by jest's global set-up, so run the tests with npm test.`,
  )
}

/** The addresses of the one stack that the global set-up started. */
export const stack = {
  databaseAdminUrl: () => variable('TEST_DATABASE_ADMIN_URL'),
  /** Of the embedded provider. */
  identityDatabaseUrl: () => variable('TEST_IDENTITY_DATABASE_URL'),
  temporalAddress: () => variable('TEST_TEMPORAL_ADDRESS'),
  temporalCli: () => variable('TEST_TEMPORAL_CLI'),
  issuer: () => variable('TEST_OIDC_ISSUER'),
  tokenUrl: () => variable('TEST_TOKEN_URL'),
  directoryUrl: () => variable('TEST_DIRECTORY_URL'),
  mailUrl: () => variable('TEST_MAIL_URL'),
  workflowBundle: () => variable('TEST_WORKFLOW_BUNDLE'),
  smtpPort: () => Number(variable('TEST_SMTP_PORT')),
}

/** The namespaces in which so many workers of jest start runs. */
export const namespacesOf = (workers: number): string[] =>
  Array.from({ length: workers }, (_, index) => `certwright-${index + 1}`)

/** The namespace of this worker of jest: ids of runs such as `import-clients` are there once an installation. */
export const ownNamespace = `certwright-${process.env['JEST_WORKER_ID'] ?? 1}`

let opened: Promise<Identities> | undefined

const store = () => (opened ??= openIdentities())

/** Makes a user at the identity provider; what is not said gets a default of its own. */
export const createUser = async (input: Partial<TestUser> = {}): Promise<TestUser> => {
  const name = `user-${randomUUID()}`
  const password = `password-${randomUUID()}`
  const standard = { username: name, email: `${name}@example.com`, firstName: 'Test', lastName: 'User', password }
  const wanted = { ...standard, ...input }
  const { id, username } = await (await store()).upsertUser(wanted)
  return { ...wanted, id, username }
}

/** Has the identity provider know a user of this subject, without a password. */
export const knowUser = async (user: Omit<TestUser, 'password' | 'username'>): Promise<void> => {
  await (await store()).upsertUser({ ...user, username: user.id })
}

/** Has nobody at the identity provider have this address. */
export const forgetAddress = async (email: string): Promise<void> => {
  const identities = await store()
  for (const { id } of await identities.listUsers({ email, exact: true }, 0, 100)) await identities.removeUser(id)
}

/** Makes a client with a service account at the identity provider. */
export const createClient = async (
  input: Partial<TestClient> & { managesClients?: boolean } = {},
): Promise<TestClient> => {
  const wanted = { clientId: `client-${randomUUID()}`, secret: `secret-${randomUUID()}`, ...input }
  return { ...wanted, ...(await (await store()).upsertClient(wanted)) }
}

/** How the workers of tests write to the identity provider. */
export const directorySettings = (): DirectorySettings => ({
  url: stack.directoryUrl(),
  realm: 'certwright',
  clientId: DIRECTORY_CLIENT.clientId,
  clientSecret: DIRECTORY_CLIENT.secret,
  audience: 'certwright',
})

/** An access token of a user (password grant) or of a client (client credentials). */
export const tokenFor = (principal: TestUser | TestClient): Promise<string> => {
  if ('clientId' in principal) {
    return getToken(stack.tokenUrl(), { clientId: principal.clientId, clientSecret: principal.secret })
  }
  const { username, password } = principal
  const { clientId, secret } = LOGIN_CLIENT
  return getToken(stack.tokenUrl(), { clientId, clientSecret: secret, username, password })
}

type Teardown = () => Promise<void>

const HOLDER = globalThis as { certwrightTeardown?: Teardown }

/** Keeps the teardown for jest's global teardown, which is loaded on its own. */
export const keepTeardown = (teardown: Teardown): void => {
  HOLDER.certwrightTeardown = teardown
}

/** Runs the kept teardown. */
export const runTeardown = async (): Promise<void> => HOLDER.certwrightTeardown?.()
