// The users and clients of the embedded identity provider, in a database of its own.
import { randomUUID } from 'node:crypto'
import { Pool } from 'pg'
import { userQueries, userSchema } from './identity-users.ts'
import { hashSecret, secretMatches } from './secret-hash.ts'

/** A machine client of the identity provider with its service account. */
export interface IdentityClient {
  /** Its id in the admin API. */
  readonly id: string
  readonly clientId: string
  readonly name: string | null
  /** The subject of the tokens of the client's service account. */
  readonly serviceAccountId: string
  readonly enabled: boolean
  readonly attributes: Readonly<Record<string, string>>
  /** Whether its service account may use the admin API. */
  readonly managesClients: boolean
}

/** What makes or changes a client; without a secret the old one stays. */
type ClientInput = {
  clientId: string
  serviceAccountId?: string
  enabled?: boolean
  secret?: string
  managesClients?: boolean
}

/** A client as the admin API writes it; a secret may be the hash that the same API told. */
export type ClientData = Pick<IdentityClient, 'clientId' | 'name' | 'enabled' | 'attributes'> & { secret?: string }

/** Users and clients of the embedded identity provider, in PostgreSQL. */
export interface IdentityStore extends ReturnType<typeof userQueries> {
  readonly upsertClient: (input: ClientInput) => Promise<IdentityClient>
  readonly findClient: (clientId: string) => Promise<IdentityClient | undefined>
  readonly findClientById: (id: string) => Promise<IdentityClient | undefined>
  readonly listClients: (first: number, max: number) => Promise<readonly IdentityClient[]>
  /** Undefined when the client id is taken. */
  readonly insertClient: (data: ClientData) => Promise<IdentityClient | undefined>
  readonly updateClient: (id: string, data: ClientData) => Promise<void>
  readonly removeClient: (id: string) => Promise<void>
  /** The hash of the secret; the secret itself is known to nobody. */
  readonly secretHashOf: (id: string) => Promise<string | undefined>
  readonly clientSecretMatches: (clientId: string, secret: string) => Promise<boolean>
  readonly close: () => Promise<void>
}

const schema = `
  CREATE TABLE IF NOT EXISTS identity_client (
    client_id text PRIMARY KEY,
    service_account_id uuid NOT NULL UNIQUE,
    enabled boolean NOT NULL,
    secret_hash text
  );
  ALTER TABLE identity_client ADD COLUMN IF NOT EXISTS id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    ADD COLUMN IF NOT EXISTS name text, ADD COLUMN IF NOT EXISTS attributes jsonb NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS manages_clients boolean NOT NULL DEFAULT false;`

const clientColumns = `id, client_id AS "clientId", name, service_account_id AS "serviceAccountId", enabled, attributes,
  manages_clients AS "managesClients"`

const upsertClientSql = `
  INSERT INTO identity_client (client_id, service_account_id, enabled, manages_clients, secret_hash)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (client_id) DO UPDATE SET enabled = excluded.enabled, manages_clients = excluded.manages_clients,
    secret_hash = coalesce(excluded.secret_hash, identity_client.secret_hash)
  RETURNING ${clientColumns}`

const clientParameters = async ({
  clientId,
  serviceAccountId,
  enabled,
  managesClients,
  secret,
}: ClientInput): Promise<unknown[]> => [
  clientId,
  serviceAccountId ?? randomUUID(),
  enabled ?? true,
  managesClients ?? false,
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
  clientSecretMatches: async (clientId: string, secret: string) => {
    const sql = `SELECT ${clientColumns}, secret_hash AS hash FROM identity_client WHERE client_id = $1`
    const found = await first<Hashed<IdentityClient>>(sql, [clientId])
    return secretMatches(secret, found?.hash ?? undefined)
  },
})

const isHash = (text: string): boolean => /^scrypt\$[\w-]+\$[\w-]+$/.test(text)

const hashOf = async ({ secret }: ClientData): Promise<string | null> => {
  if (secret === undefined) return null
  return isHash(secret) ? secret : hashSecret(secret)
}

const insertClientSql = `
  INSERT INTO identity_client (client_id, service_account_id, name, enabled, attributes, secret_hash)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (client_id) DO NOTHING RETURNING ${clientColumns}`

const updateClientSql = `
  UPDATE identity_client SET name = $2, enabled = $3, attributes = $4, secret_hash = coalesce($5, secret_hash)
  WHERE id = $1`

/** What the admin API asks. */
const administration = (pool: Pool, { first }: ReturnType<typeof queries>) => ({
  findClientById: (id: string) =>
    first<IdentityClient>(`SELECT ${clientColumns} FROM identity_client WHERE id::text = $1`, [id]),
  listClients: async (skipped: number, max: number) => {
    const sql = `SELECT ${clientColumns} FROM identity_client ORDER BY client_id OFFSET $1 LIMIT $2`
    return (await pool.query<IdentityClient>(sql, [skipped, max])).rows
  },
  insertClient: async (data: ClientData) => {
    const { clientId, name, enabled, attributes } = data
    const hash = await hashOf(data)
    return first<IdentityClient>(insertClientSql, [clientId, randomUUID(), name, enabled, attributes, hash])
  },
  updateClient: async (id: string, data: ClientData) => {
    await pool.query(updateClientSql, [id, data.name, data.enabled, data.attributes, await hashOf(data)])
  },
  removeClient: async (id: string) => {
    await pool.query('DELETE FROM identity_client WHERE id = $1', [id])
  },
  secretHashOf: async (id: string) => {
    const sql = 'SELECT secret_hash AS hash FROM identity_client WHERE id = $1'
    return (await first<{ hash: string | null }>(sql, [id]))?.hash ?? undefined
  },
})

/** Opens the identity provider's records and makes their tables when they are not there. */
export const openIdentityStore = async (databaseUrl: string): Promise<IdentityStore> => {
  const pool = new Pool({ connectionString: databaseUrl, max: 5, allowExitOnIdle: true })
  pool.on('error', () => {}) // an idle connection that broke is replaced by the next query
  await pool.query(`${userSchema}${schema}`)
  const query = queries(pool)
  return {
    ...userQueries(pool),
    upsertClient: async input => query.always<IdentityClient>(upsertClientSql, await clientParameters(input)),
    findClient: clientId =>
      query.first(`SELECT ${clientColumns} FROM identity_client WHERE client_id = $1`, [clientId]),
    ...administration(pool, query),
    ...checks(query),
    close: () => pool.end(),
  }
}
