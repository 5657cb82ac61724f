// The users and clients of the embedded identity provider, in a database of its own.
import { randomBytes, randomUUID, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Pool } from 'pg'

/** A person known to the identity provider. */
interface IdentityUser {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly enabled: boolean
}

/** A machine client of the identity provider with its service account. */
interface IdentityClient {
  readonly clientId: string
  /** The subject of the tokens of the client's service account. */
  readonly serviceAccountId: string
  readonly enabled: boolean
}

/** What makes or changes a user; without a password the old one stays. */
type UserInput = Omit<IdentityUser, 'id' | 'enabled'> & { id?: string; enabled?: boolean; password?: string }

/** What makes or changes a client; without a secret the old one stays. */
type ClientInput = { clientId: string; serviceAccountId?: string; enabled?: boolean; secret?: string }

/** Users and clients of the embedded identity provider, in PostgreSQL. */
export interface IdentityStore {
  readonly upsertUser: (input: UserInput) => Promise<IdentityUser>
  readonly upsertClient: (input: ClientInput) => Promise<IdentityClient>
  readonly findUser: (id: string) => Promise<IdentityUser | undefined>
  readonly findUserByName: (username: string) => Promise<IdentityUser | undefined>
  readonly findClient: (clientId: string) => Promise<IdentityClient | undefined>
  /** The user with that name (or e-mail address) and password, when enabled. */
  readonly findUserByPassword: (username: string, password: string) => Promise<IdentityUser | undefined>
  readonly clientSecretMatches: (clientId: string, secret: string) => Promise<boolean>
  readonly close: () => Promise<void>
}

const schema = `
  CREATE TABLE IF NOT EXISTS identity_user (
    id uuid PRIMARY KEY,
    username text NOT NULL UNIQUE,
    email text NOT NULL,
    first_name text NOT NULL,
    last_name text NOT NULL,
    enabled boolean NOT NULL,
    password_hash text
  );
  CREATE TABLE IF NOT EXISTS identity_client (
    client_id text PRIMARY KEY,
    service_account_id uuid NOT NULL UNIQUE,
    enabled boolean NOT NULL,
    secret_hash text
  );`

const userColumns = 'id, username, email, first_name AS "firstName", last_name AS "lastName", enabled'
const clientColumns = 'client_id AS "clientId", service_account_id AS "serviceAccountId", enabled'

const upsertUserSql = `
  INSERT INTO identity_user (id, username, email, first_name, last_name, enabled, password_hash)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (username) DO UPDATE SET email = excluded.email, first_name = excluded.first_name,
    last_name = excluded.last_name, enabled = excluded.enabled,
    password_hash = coalesce(excluded.password_hash, identity_user.password_hash)
  RETURNING ${userColumns}`

const upsertClientSql = `
  INSERT INTO identity_client (client_id, service_account_id, enabled, secret_hash)
  VALUES ($1, $2, $3, $4)
  ON CONFLICT (client_id) DO UPDATE SET enabled = excluded.enabled,
    secret_hash = coalesce(excluded.secret_hash, identity_client.secret_hash)
  RETURNING ${clientColumns}`

const derive = promisify<string, Buffer, number, Buffer>(scrypt)
const hashBytes = 32

// The scrypt hash of a password or client secret, with its salt: `scrypt$<salt>$<hash>`, both base64url.
const hashSecret = async (secret: string): Promise<string> => {
  const salt = randomBytes(16)
  const hash = await derive(secret, salt, hashBytes)
  return `scrypt$${salt.toString('base64url')}$${hash.toString('base64url')}`
}

// True when the secret is the one that was hashed; takes the same time when there is no hash at all.
const secretMatches = async (secret: string, stored: string | undefined): Promise<boolean> => {
  const [, salt = '', hash = ''] = (stored ?? '').split('$')
  const expected = Buffer.from(hash, 'base64url')
  const derived = await derive(secret, Buffer.from(salt, 'base64url'), hashBytes)
  return expected.length === hashBytes && timingSafeEqual(derived, expected)
}

const userParameters = async ({
  id,
  username,
  email,
  firstName,
  lastName,
  enabled,
  password,
}: UserInput): Promise<unknown[]> => [
  id ?? randomUUID(),
  username.toLowerCase(),
  email,
  firstName,
  lastName,
  enabled ?? true,
  password === undefined ? null : await hashSecret(password),
]

const clientParameters = async ({ clientId, serviceAccountId, enabled, secret }: ClientInput): Promise<unknown[]> => [
  clientId,
  serviceAccountId ?? randomUUID(),
  enabled ?? true,
  secret === undefined ? null : await hashSecret(secret),
]

type Hashed<T> = T & { hash: string | null }

const queries = (pool: Pool) => {
  const first = async <T extends object>(sql: string, parameters: unknown[]): Promise<T | undefined> =>
    (await pool.query<T>(sql, parameters)).rows[0]
  const always = async <T extends object>(sql: string, parameters: unknown[]): Promise<T> => {
    const row = await first<T>(sql, parameters)
    if (row === undefined) throw new Error('The identity database answered no row to an upsert.')
    return row
  }
  return { first, always }
}

const checks = ({ first }: ReturnType<typeof queries>) => ({
  findUserByPassword: async (username: string, password: string) => {
    const sql = `SELECT ${userColumns}, password_hash AS hash FROM identity_user WHERE username = $1 OR lower(email) = $1
      ORDER BY username = $1 DESC LIMIT 1`
    const found = await first<Hashed<IdentityUser>>(sql, [username.toLowerCase()])
    const matches = await secretMatches(password, found?.hash ?? undefined)
    if (!matches || !found?.enabled) return undefined
    const { hash: _, ...user } = found
    return user
  },
  clientSecretMatches: async (clientId: string, secret: string) => {
    const sql = `SELECT ${clientColumns}, secret_hash AS hash FROM identity_client WHERE client_id = $1`
    const found = await first<Hashed<IdentityClient>>(sql, [clientId])
    return secretMatches(secret, found?.hash ?? undefined)
  },
})

/** Opens the identity provider's records and makes their tables when they are not there. */
export const openIdentityStore = async (databaseUrl: string): Promise<IdentityStore> => {
  const pool = new Pool({ connectionString: databaseUrl, max: 5, allowExitOnIdle: true })
  pool.on('error', () => {}) // an idle connection that broke is replaced by the next query
  await pool.query(schema)
  const query = queries(pool)
  return {
    upsertUser: async input => query.always<IdentityUser>(upsertUserSql, await userParameters(input)),
    upsertClient: async input => query.always<IdentityClient>(upsertClientSql, await clientParameters(input)),
    findUser: id => query.first(`SELECT ${userColumns} FROM identity_user WHERE id = $1`, [id]),
    findUserByName: username =>
      query.first(`SELECT ${userColumns} FROM identity_user WHERE username = $1`, [username.toLowerCase()]),
    findClient: clientId =>
      query.first(`SELECT ${clientColumns} FROM identity_client WHERE client_id = $1`, [clientId]),
    ...checks(query),
    close: () => pool.end(),
  }
}
