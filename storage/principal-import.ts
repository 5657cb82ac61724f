// Bringing the principals of the identity provider into the records (contract 12), a page at a time: new and changed ones
// by one statement each, the gone ones disabled. The last enabled administrator stays so, whatever the identity provider says.
import type { EntityManager } from '@mikro-orm/postgresql'
import { recordMany, type Fact } from './audit.ts'
import { enabledAdmins } from './authorization.ts'
import { takeKeyedLocks } from './lock.ts'
import { actor } from './rows/stamp.ts'
import { statement, Statements } from './statement.ts'

/** A user as the identity provider tells it. */
export interface ImportedUser {
  readonly providerId: string
  readonly firstName: string | null
  readonly lastName: string | null
  readonly email: string | null
  readonly enabled: boolean
  readonly passwordLogin: boolean
}

/** A client as the identity provider tells it. */
export interface ImportedClient {
  readonly providerId: string
  /** Absent where it has no name there. */
  readonly name: string | null
  readonly enabled: boolean
  /** Whether only a record that is there already is changed: a run of its own makes the other. */
  readonly known: boolean
}

/** What came of a page. */
export interface Imported {
  readonly made: number
  readonly changed: number
  /** The administrators who would have been disabled. */
  readonly kept: readonly string[]
}

interface Touched {
  readonly id: string
  readonly name: string
}

const stampValues = (em: EntityManager, now: Date): unknown[] => {
  const { id, type } = actor(em)
  return [id, type, now]
}

const stampColumns =
  'created_by, created_by_type, created_date, last_modified_by, last_modified_by_type, last_modified_date'
const stamped = '$2::uuid, $3::text, $4::timestamptz, $2::uuid, $3::text, $4::timestamptz'
const restamped =
  'version = t.version + 1, last_modified_by = $2::uuid, last_modified_by_type = $3::text, last_modified_date = $4::timestamptz'

const nameOfUser = (row: string): string => `coalesce(${row}.email, ${row}.provider_id)`

const wantedUsers = `json_to_recordset($1::json) as w(
  provider_id text, first_name text, last_name text, email text, enabled boolean, password_login boolean)`

const insertUsers = statement<Touched>(
  `insert into app_user as t (id, version, provider_id, first_name, last_name, email, enabled, password_login_enabled, ${stampColumns})
   select gen_random_uuid(), 1, w.provider_id, w.first_name, w.last_name, w.email, w.enabled, w.password_login, ${stamped}
     from ${wantedUsers} on conflict (provider_id) do nothing returning t.id, ${nameOfUser('t')} as name`,
)

const updateUsers = statement<Touched>(
  `update app_user t set first_name = w.first_name, last_name = w.last_name, email = w.email,
     enabled = w.enabled or t.id is not distinct from $5::uuid, password_login_enabled = w.password_login, ${restamped}
   from ${wantedUsers} where t.provider_id = w.provider_id and
     (t.first_name, t.last_name, t.email, t.enabled, t.password_login_enabled) is distinct from
     (w.first_name, w.last_name, w.email, w.enabled or t.id is not distinct from $5::uuid, w.password_login)
   returning t.id, ${nameOfUser('t')} as name`,
)

const wantedClients = `json_to_recordset($1::json) as w(
  provider_id text, name text, spare_name text, enabled boolean, known boolean)`

// Of two that want one name the first gets it, the other a name that nobody has.
const insertClients = statement<Touched>(
  `with wanted as (
     select w.*, row_number() over (partition by comparable(coalesce(w.name, w.provider_id)) order by w.provider_id) as place
       from ${wantedClients}
      where not w.known and not exists (select from api_client c where c.provider_id = w.provider_id))
   insert into api_client as t (id, version, provider_id, name, realm_ids, enabled, system_client, ${stampColumns})
   select gen_random_uuid(), 1, w.provider_id,
       case when w.place = 1 and not exists (
         select from api_client c where comparable(c.name) = comparable(coalesce(w.name, w.provider_id)))
       then coalesce(w.name, w.provider_id) else w.spare_name end,
       '{}', w.enabled, false, ${stamped}
     from wanted w on conflict (provider_id) do nothing returning t.id, t.name`,
)

const updateClients = statement<Touched>(
  `update api_client t set enabled = w.enabled or t.id is not distinct from $5::uuid, ${restamped}
   from ${wantedClients} where t.provider_id = w.provider_id and
     t.enabled is distinct from (w.enabled or t.id is not distinct from $5::uuid)
   returning t.id, t.name`,
)

/** The tables of principals, and how people call their rows. */
const tables = {
  USER: { table: 'app_user', name: nameOfUser('t'), label: 'User' },
  API_CLIENT: { table: 'api_client', name: 't.name', label: 'API client' },
} as const

/** Which principals. */
export type PrincipalKind = keyof typeof tables

const enabledOnes = new Statements<Touched>()

/** Of these principals the one who must stay enabled, for else no administrator would; who they are stays until the end. */
const lastAdminAmong = async (
  em: EntityManager,
  kind: PrincipalKind,
  providerIds: readonly string[],
): Promise<Touched | undefined> => {
  const { table, name } = tables[kind]
  const sql = `select t.id, ${name} as name from ${table} t where t.enabled and t.provider_id = any($1::text[])
    order by t.created_date, t.id`
  const losing = providerIds.length === 0 ? [] : await enabledOnes.get(kind, () => sql).all(em, [providerIds])
  if (losing.length === 0) return undefined
  const admins = new Set(await enabledAdmins(em))
  const losers = losing.filter(({ id }) => admins.has(id))
  return losers.length === admins.size ? losers[0] : undefined
}

const factsOf =
  (kind: PrincipalKind, type: Fact['type'], verb: string) =>
  (rows: readonly Touched[]): Fact[] =>
    rows.map(({ id, name }) => ({ type, objectId: id, what: `${tables[kind].label} ${name} ${verb}` }))

const disabledIn = (all: readonly { readonly providerId: string; readonly enabled: boolean }[]): string[] =>
  all.filter(({ enabled }) => !enabled).map(({ providerId }) => providerId)

/** Brings users in as they are at the identity provider; those that are so already stay as they are. */
export const importUsers = async (em: EntityManager, users: readonly ImportedUser[], now: Date): Promise<Imported> => {
  const subjects = users.map(({ providerId }) => providerId)
  // A login makes no second record meanwhile.
  await takeKeyedLocks(em, 'PRINCIPAL', subjects)
  const kept = await lastAdminAmong(em, 'USER', disabledIn(users))
  const rows = users.map(({ providerId, firstName, lastName, email, enabled, passwordLogin }) => ({
    provider_id: providerId,
    first_name: firstName,
    last_name: lastName,
    email,
    enabled,
    password_login: passwordLogin,
  }))
  const values = [JSON.stringify(rows), ...stampValues(em, now)]
  const changed = await updateUsers.all(em, [...values, kept?.id ?? null])
  const made = await insertUsers.all(em, values)
  const facts = [
    ...factsOf('USER', 'ENTITY_UPDATED', 'updated from the identity provider')(changed),
    ...factsOf('USER', 'ENTITY_CREATED', 'brought in from the identity provider')(made),
  ]
  await recordMany(em, facts, { now })
  return { made: made.length, changed: changed.length, kept: kept ? [kept.name] : [] }
}

const longestName = 255

/** Brings clients in; of those that are known only `enabled` is taken over, their names are ours. */
export const importClients = async (
  em: EntityManager,
  clients: readonly ImportedClient[],
  now: Date,
): Promise<Imported> => {
  await takeKeyedLocks(
    em,
    'PRINCIPAL',
    clients.map(({ providerId }) => providerId),
  )
  const kept = await lastAdminAmong(em, 'API_CLIENT', disabledIn(clients))
  const rows = clients.map(({ providerId, name, enabled, known }) => ({
    provider_id: providerId,
    name: name === null ? null : name.slice(0, longestName),
    spare_name: `${providerId.slice(0, longestName - 37)} ${crypto.randomUUID()}`,
    enabled,
    known,
  }))
  const values = [JSON.stringify(rows), ...stampValues(em, now)]
  const changed = await updateClients.all(em, [...values, kept?.id ?? null])
  const made = await insertClients.all(em, values)
  const facts = [
    ...factsOf('API_CLIENT', 'ENTITY_UPDATED', 'updated from the identity provider')(changed),
    ...factsOf('API_CLIENT', 'ENTITY_CREATED', 'brought in from the identity provider')(made),
  ]
  await recordMany(em, facts, { now })
  return { made: made.length, changed: changed.length, kept: kept ? [kept.name] : [] }
}

/** An enabled principal that the identity provider is asked for. */
export interface Candidate {
  readonly id: string
  readonly providerId: string
}

const candidates = new Statements<Candidate>()

/** The next enabled principals behind one, by their ids. */
export const enabledAfter = (
  em: EntityManager,
  kind: PrincipalKind,
  { after, count }: { readonly after: string | null; readonly count: number },
): Promise<Candidate[]> => {
  const sql = `select t.id, t.provider_id as "providerId" from ${tables[kind].table} t
    where t.enabled and ($1::uuid is null or t.id > $1::uuid) order by t.id limit $2`
  return candidates.get(kind, () => sql).all(em, [after, count])
}

const disabling = new Statements<Touched>()

/** Disables principals that are gone at the identity provider, but for the last administrator. */
export const disableGone = async (
  em: EntityManager,
  { kind, providerIds }: { readonly kind: PrincipalKind; readonly providerIds: readonly string[] },
  now: Date,
): Promise<{ readonly disabled: number; readonly kept: readonly string[] }> => {
  if (providerIds.length === 0) return { disabled: 0, kept: [] }
  await takeKeyedLocks(em, 'PRINCIPAL', providerIds)
  const kept = await lastAdminAmong(em, kind, providerIds)
  const { table, name } = tables[kind]
  const sql = `update ${table} t set enabled = false, ${restamped}
    where t.enabled and t.provider_id = any($1::text[]) and t.id is distinct from $5::uuid returning t.id, ${name} as name`
  const statementOf = disabling.get(kind, () => sql)
  const rows = await statementOf.all(em, [providerIds, ...stampValues(em, now), kept?.id ?? null])
  await recordMany(em, factsOf(kind, 'ENTITY_UPDATED', 'disabled, for the identity provider has it no more')(rows), {
    now,
  })
  return { disabled: rows.length, kept: kept ? [kept.name] : [] }
}
