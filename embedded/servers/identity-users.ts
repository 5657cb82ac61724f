// The users of the embedded identity provider in PostgreSQL: who they are, which roles they have, and the links that let
// them set a password.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { hashSecret, secretMatches } from './secret-hash.ts'

/** A person known to the identity provider. */
export interface IdentityUser {
  readonly id: string
  readonly username: string
  readonly email: string | null
  readonly firstName: string | null
  readonly lastName: string | null
  readonly enabled: boolean
  readonly attributes: Readonly<Record<string, readonly string[]>>
}

/** A realm role. */
export interface IdentityRole {
  readonly id: string
  readonly name: string
  readonly description: string | null
}

/** What makes or changes a user by its name; without a password the old one stays. */
export interface UserInput extends Pick<IdentityUser, 'username'> {
  readonly id?: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly enabled?: boolean
  readonly password?: string
}

/** A user as the admin API writes it. */
export type UserData = Omit<IdentityUser, 'id'>

/** What a list of users is narrowed by; texts are compared without case. */
export interface UserFilter {
  readonly username?: string | undefined
  readonly email?: string | undefined
  /** Whether names and addresses are whole. */
  readonly exact: boolean
  /** A part of a name or an address. */
  readonly search?: string | undefined
  /** Attributes as JSON. */
  readonly attributes?: Readonly<Record<string, readonly string[]>> | undefined
}

/** The role of those who may not log in by password. */
export const noPasswordRole = 'disable_password_login'

/** The tables of users. */
export const userSchema = `
  CREATE TABLE IF NOT EXISTS identity_user (
    id uuid PRIMARY KEY,
    username text NOT NULL UNIQUE,
    email text,
    first_name text,
    last_name text,
    enabled boolean NOT NULL,
    password_hash text
  );
  ALTER TABLE identity_user ALTER COLUMN email DROP NOT NULL, ALTER COLUMN first_name DROP NOT NULL,
    ALTER COLUMN last_name DROP NOT NULL, ADD COLUMN IF NOT EXISTS attributes jsonb NOT NULL DEFAULT '{}';
  CREATE TABLE IF NOT EXISTS identity_role (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE,
    description text
  );
  CREATE TABLE IF NOT EXISTS identity_user_role (
    user_id uuid NOT NULL REFERENCES identity_user ON DELETE CASCADE,
    role_id uuid NOT NULL REFERENCES identity_role ON DELETE CASCADE,
    PRIMARY KEY (user_id, role_id)
  );
  CREATE TABLE IF NOT EXISTS identity_password_link (
    token_hash text PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES identity_user ON DELETE CASCADE,
    expires timestamptz NOT NULL
  );
  INSERT INTO identity_role (name, description) VALUES ('${noPasswordRole}', 'May not log in by password')
    ON CONFLICT DO NOTHING;`

const columns = `u.id, u.username, u.email, u.first_name AS "firstName", u.last_name AS "lastName", u.enabled, u.attributes`

const upsertSql = `
  INSERT INTO identity_user AS u (id, username, email, first_name, last_name, enabled, password_hash)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (username) DO UPDATE SET email = excluded.email, first_name = excluded.first_name,
    last_name = excluded.last_name, enabled = excluded.enabled,
    password_hash = coalesce(excluded.password_hash, u.password_hash)
  RETURNING ${columns}`

// Two with one address would both be taken for whoever logs in by it.
const insertSql = `
  INSERT INTO identity_user AS u (id, username, email, first_name, last_name, enabled, attributes)
  SELECT $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::boolean, $7::jsonb
   WHERE NOT EXISTS (SELECT FROM identity_user o WHERE lower(o.email) = lower($3::text))
  ON CONFLICT (username) DO NOTHING RETURNING ${columns}`

const listSql = `
  SELECT ${columns} FROM identity_user u
   WHERE ($1::text IS NULL OR CASE WHEN $3 THEN u.username = lower($1) ELSE strpos(u.username, lower($1)) > 0 END)
     AND ($2::text IS NULL OR CASE WHEN $3 THEN lower(u.email) = lower($2) ELSE strpos(lower(u.email), lower($2)) > 0 END)
     AND ($4::text IS NULL OR strpos(lower(concat_ws(' ', u.username, u.email, u.first_name, u.last_name)), lower($4)) > 0)
     AND u.attributes @> coalesce($5::jsonb, '{}')
   ORDER BY u.username OFFSET $6 LIMIT $7`

const upsertValues = async (input: UserInput): Promise<unknown[]> => {
  const { id, username, email, firstName, lastName, enabled, password } = input
  const hash = password === undefined ? null : await hashSecret(password)
  return [id ?? randomUUID(), username.toLowerCase(), email, firstName, lastName, enabled ?? true, hash]
}

const dataValues = ({ username, email, firstName, lastName, enabled, attributes }: UserData): unknown[] => [
  username.toLowerCase(),
  email,
  firstName,
  lastName,
  enabled,
  JSON.stringify(attributes),
]

const hashOfToken = (token: string): string => createHash('sha256').update(token).digest('hex')

type Rows = <T extends object>(sql: string, values?: unknown[]) => Promise<T[]>

const people = (rows: Rows) => ({
  upsertUser: async (input: UserInput): Promise<IdentityUser> => {
    const [user] = await rows<IdentityUser>(upsertSql, await upsertValues(input))
    if (user === undefined) throw new Error('The identity database answered no row to an upsert.')
    return user
  },
  findUser: async (id: string) =>
    (await rows<IdentityUser>(`SELECT ${columns} FROM identity_user u WHERE id::text = $1`, [id]))[0],
  findUserByName: async (username: string) =>
    (
      await rows<IdentityUser>(`SELECT ${columns} FROM identity_user u WHERE username = $1`, [username.toLowerCase()])
    )[0],
  /** The user with that name (or e-mail address) and password, when enabled. */
  findUserByPassword: async (username: string, password: string): Promise<IdentityUser | undefined> => {
    const sql = `SELECT ${columns}, password_hash AS hash FROM identity_user u WHERE username = $1 OR lower(email) = $1
      ORDER BY username = $1 DESC LIMIT 1`
    const [found] = await rows<IdentityUser & { hash: string | null }>(sql, [username.toLowerCase()])
    const matches = await secretMatches(password, found?.hash ?? undefined)
    if (!matches || !found?.enabled) return undefined
    const { hash: _, ...user } = found
    return user
  },
})

const listing = (rows: Rows) => ({
  listUsers: (filter: UserFilter, first: number, max: number) => {
    const { username = null, email = null, exact, search = null, attributes } = filter
    const wanted = attributes ? JSON.stringify(attributes) : null
    return rows<IdentityUser>(listSql, [username, email, exact, search, wanted, first, max])
  },
  countUsers: async () => (await rows<{ count: number }>('SELECT count(*)::int FROM identity_user'))[0]?.count ?? 0,
  /** Undefined when the name or the address is taken. */
  insertUser: async (data: UserData) => (await rows<IdentityUser>(insertSql, [randomUUID(), ...dataValues(data)]))[0],
  updateUser: async (id: string, data: UserData): Promise<void> => {
    const sql = `UPDATE identity_user SET username = $2, email = $3, first_name = $4, last_name = $5, enabled = $6,
      attributes = $7 WHERE id = $1`
    await rows(sql, [id, ...dataValues(data)])
  },
  removeUser: async (id: string): Promise<void> => {
    await rows('DELETE FROM identity_user WHERE id = $1', [id])
  },
})

const roles = (rows: Rows) => ({
  listRoles: () => rows<IdentityRole>('SELECT id, name, description FROM identity_role ORDER BY name'),
  /** Undefined when there is one of that name. */
  insertRole: async (name: string, description: string | null) => {
    const sql = `INSERT INTO identity_role (name, description) VALUES ($1, $2) ON CONFLICT DO NOTHING
      RETURNING id, name, description`
    return (await rows<IdentityRole>(sql, [name, description]))[0]
  },
  removeRole: async (name: string): Promise<void> => {
    await rows('DELETE FROM identity_role WHERE name = $1', [name])
  },
  rolesOf: (userId: string) =>
    rows<IdentityRole>(
      `SELECT r.id, r.name, r.description FROM identity_user_role m JOIN identity_role r ON r.id = m.role_id
        WHERE m.user_id = $1 ORDER BY r.name`,
      [userId],
    ),
  usersWith: (roleName: string, first: number, max: number) =>
    rows<IdentityUser>(
      `SELECT ${columns} FROM identity_user u JOIN identity_user_role m ON m.user_id = u.id
        JOIN identity_role r ON r.id = m.role_id WHERE r.name = $1 ORDER BY u.username OFFSET $2 LIMIT $3`,
      [roleName, first, max],
    ),
  giveRoles: async (userId: string, roleIds: readonly string[]): Promise<void> => {
    await rows('INSERT INTO identity_user_role SELECT $1, unnest($2::uuid[]) ON CONFLICT DO NOTHING', [userId, roleIds])
  },
  takeRoles: async (userId: string, roleIds: readonly string[]): Promise<void> => {
    await rows('DELETE FROM identity_user_role WHERE user_id = $1 AND role_id = any($2::uuid[])', [userId, roleIds])
  },
})

const passwordLinks = (rows: Rows) => ({
  /** A new token by which a user may set a password once; only its hash is kept. */
  makePasswordLink: async (userId: string, seconds: number): Promise<string> => {
    const token = randomBytes(32).toString('base64url')
    const sql = `INSERT INTO identity_password_link VALUES ($1, $2, now() + $3 * interval '1 second')`
    await rows('DELETE FROM identity_password_link WHERE expires < now()')
    await rows(sql, [hashOfToken(token), userId, seconds])
    return token
  },
  /** Whose password a token may set; undefined when it is spent, over or none. */
  findPasswordLink: async (token: string) => {
    const sql = `SELECT ${columns} FROM identity_password_link l JOIN identity_user u ON u.id = l.user_id
      WHERE l.token_hash = $1 AND l.expires > now() AND u.enabled`
    return (await rows<IdentityUser>(sql, [hashOfToken(token)]))[0]
  },
  /** Sets the password and spends every token of its user; false when the token counts no more. */
  spendPasswordLink: async (token: string, password: string): Promise<boolean> => {
    const sql = `WITH spent AS (DELETE FROM identity_password_link WHERE token_hash = $1 AND expires > now() RETURNING user_id),
        set_password AS (UPDATE identity_user u SET password_hash = $2 FROM spent
          WHERE u.id = spent.user_id AND u.enabled RETURNING u.id),
        others AS (DELETE FROM identity_password_link l USING set_password s WHERE l.user_id = s.id AND l.token_hash <> $1)
      SELECT id FROM set_password`
    return (await rows(sql, [hashOfToken(token), await hashSecret(password)])).length > 0
  },
})

/** What can be asked of the users. */
export const userQueries = (pool: Pool) => {
  const rows: Rows = async <T extends object>(sql: string, values: unknown[] = []) =>
    (await pool.query<T>(sql, values)).rows
  return { ...people(rows), ...listing(rows), ...roles(rows), ...passwordLinks(rows) }
}
