// The two roles of the database: one owns the schema and changes it, the other is that of API and worker, which may read
// and write rows and owns nothing (decision 18).
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'

/** What API and worker never do in these tables, whatever becomes of them. */
const withheld: Readonly<Record<string, string>> = {
  audit_event: 'update, delete, truncate',
  private_key: 'update, truncate',
  compromised_key: 'update, delete, truncate',
  mikro_orm_migrations: 'insert, update, delete, truncate',
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** The role that a connection string names. */
export const roleIn = (url: string): string => decodeURIComponent(new URL(url).username)

const first = async <T>(em: EntityManager, sql: string): Promise<T> => {
  const [row] = await em.execute<T[]>(sql)
  if (row === undefined) throw new Error('The database answered no row.')
  return row
}

const currentRole = async (em: EntityManager): Promise<string> =>
  (await first<{ role: string }>(em, 'select current_user as role')).role

/** Lets a role that is not the present one use the tables and nothing else; repeatable, and what was too much goes. */
export const grantUse = async (em: EntityManager, name: string): Promise<void> => {
  if (name === (await currentRole(em))) return
  const role = quoted(name)
  const statements = [
    'revoke create on schema public from public',
    `revoke all on schema public from ${role}`,
    `revoke all on all tables in schema public from ${role}`,
    `revoke all on all sequences in schema public from ${role}`,
    `grant usage on schema public to ${role}`,
    `grant select, insert, update, delete on all tables in schema public to ${role}`,
    `grant usage on all sequences in schema public to ${role}`,
    ...Object.entries(withheld).map(([table, rights]) => `revoke ${rights} on ${table} from ${role}`),
  ]
  const { name: database } = await first<{ name: string }>(em, 'select current_database() as name')
  for (const statement of [...statements, `revoke temporary on database ${quoted(database)} from public, ${role}`])
    await em.execute(statement)
}

const tooMuch = {
  superuser: 'it is a superuser, for whom no right counts',
  owner: 'it owns tables, or may act as the role that does',
  creator: 'it may create in the schema or the database, if only temporary tables',
  maker: 'it may make roles or databases, or passes row security by',
  auditor: 'it may change or delete audit events',
} as const

interface Rights extends Readonly<Record<keyof typeof tooMuch, boolean>> {
  readonly role: string
  readonly usable: boolean
}

const rightsOf = (em: EntityManager): Promise<Rights> =>
  first(
    em,
    `select current_user as role, rolsuper as superuser, rolcreaterole or rolcreatedb or rolbypassrls as maker,
       exists (select from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'S', 'v')
                 and pg_has_role(current_user, c.relowner, 'member')) as owner,
       has_schema_privilege('public', 'create') or has_database_privilege(current_database(), 'create, temporary') as creator,
       has_table_privilege('audit_event', 'update, delete, truncate')
         or has_any_column_privilege('audit_event', 'update') as auditor,
       has_table_privilege('audit_event', 'insert') and has_table_privilege('private_key', 'select') as usable
     from pg_roles where rolname = current_user`,
  )

/** What a look at the role of a connection found. */
export interface RoleReport {
  readonly role: string
  /** Whether it can use the tables at all. */
  readonly usable: boolean
  /** A sentence for each right that it has and should not have. */
  readonly faults: readonly string[]
}

/** Looks at the rights of the role that this connection has. */
export const inspectRole = async (orm: MikroORM): Promise<RoleReport> => {
  const { role, usable, ...rights } = await rightsOf(orm.em.fork())
  const names = Object.keys(tooMuch) as (keyof typeof tooMuch)[]
  return { role, usable, faults: names.filter(name => rights[name]).map(name => tooMuch[name]) }
}
