// Queries about grants beyond one place: anything within a realm, anywhere at all, everything of one principal.
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import {
  decide,
  hasWay,
  type Grants,
  type Place,
  type Right,
  type Scope,
  type Verdict,
  type Way,
} from '../domain/permissions.ts'
import { alias } from './lists/search.ts'
import { takeLock } from './lock.ts'

/** The tables whose rows hang in a realm, by the scope of their grants. */
const tables = {
  POLICY: 'policy',
  END_ENTITY: 'end_entity',
  CERT_REQUEST: 'cert_request',
  CERTIFICATE: 'certificate',
} as const satisfies Partial<Record<Scope, string>>

/** A condition on a principal's id: it holds a grant on a realm or on something in it; `realm` stands in it five times. */
const within = (principal: string, realm: string): string =>
  [
    ...Object.entries(tables).map(
      ([scope, table]) =>
        `exists (select 1 from permission_grant g join ${table} t on t.id = g.resource_id
          where g.principal_id = ${principal} and g.scope = '${scope}' and t.realm_id = ${realm})`,
    ),
    `exists (select 1 from permission_grant g
      where g.principal_id = ${principal} and g.scope = 'REALM' and g.resource_id = ${realm})`,
  ].join(' or ')

const realmsEntered = async (em: EntityManager, principalId: string, realmIds: readonly string[]) => {
  if (realmIds.length === 0) return new Set<string>()
  const rows = await em.execute<{ id: string }[]>(
    `select r.id from unnest(?::uuid[]) as r(id), (select ?::uuid as id) p where ${within('p.id', 'r.id')}`,
    [`{${[...new Set(realmIds)].join(',')}}`, principalId],
  )
  return new Set(rows.map(({ id }) => id))
}

const heldAnywhere = async (em: EntityManager, principalId: string) => {
  const rows = await em.execute<{ scope: string; permissions: string[] }[]>(
    `select g.scope, array_agg(distinct p) as permissions from permission_grant g, unnest(g.permissions) p
      where g.principal_id = ? and g.scope in ('REALM', 'POLICY') group by g.scope`,
    [principalId],
  )
  return new Map(rows.map(({ scope, permissions }) => [scope, new Set(permissions)]))
}

const adminsAmong = async (em: EntityManager, principalIds: readonly string[]) => {
  const rows = await em.execute<{ id: string }[]>(
    `select g.principal_id as id from permission_grant g
      where g.principal_id = any(?::uuid[]) and g.scope = 'GLOBAL' and 'ADMIN' = any(g.permissions)`,
    [`{${principalIds.join(',')}}`],
  )
  return new Set(rows.map(({ id }) => id))
}

const idsAt = (places: readonly Place[], key: 'REALM' | 'PRINCIPAL'): string[] =>
  places.map(place => place[key]).filter(id => id !== undefined)

/**
 * Adds what a right needs beyond these places: grants on anything in their realms, and on any realm or policy, and
 * whether their principals hold ADMIN.
 */
export const loadWiderGrants = async (
  em: EntityManager,
  grants: Grants,
  { right, places }: { right: Right; places: readonly Place[] },
): Promise<Grants> => {
  const has = (kind: Way['on']) => places.some(place => hasWay(right, kind, place))
  const entered = has('WITHIN') ? await realmsEntered(em, grants.principalId, idsAt(places, 'REALM')) : null
  const anywhere = has('ANYWHERE') ? await heldAnywhere(em, grants.principalId) : null
  const admins = has('ORDINARY') ? await adminsAmong(em, idsAt(places, 'PRINCIPAL')) : null
  return {
    principalId: grants.principalId,
    global: grants.global,
    on: (scope, id) => grants.on(scope, id),
    within: id => entered?.has(id) ?? grants.within(id),
    anywhere: scope => anywhere?.get(scope) ?? grants.anywhere(scope),
    isOrdinary: id => (admins ? !admins.has(id) : grants.isOrdinary(id)),
  }
}

const farWays: readonly Way['on'][] = ['WITHIN', 'ANYWHERE', 'ORDINARY']

/** Whether looking further could help: who lacks something else is not told whether another principal holds ADMIN. */
const looksFurther = ({ allowed, wouldServe }: Verdict): boolean =>
  !allowed && wouldServe.every(ways => ways.some(({ on }) => farWays.includes(on)))

/** For each place the verdict on a right of the holder of these grants, which must be those at the places. */
export const judgeRight = async (
  em: EntityManager,
  near: Grants,
  { right, places }: { right: Right; places: readonly Place[] },
): Promise<Verdict[]> => {
  const verdicts = places.map(place => decide(right, place, near))
  if (!verdicts.some(looksFurther)) return verdicts
  const far = await loadWiderGrants(em, near, { right, places })
  return places.map(place => decide(right, place, far))
}

/** A condition that keeps the principals of a listed table that may enter a realm. */
export const canEnter = (realmId: string): RawQueryFragment =>
  raw(
    `(${within(`${alias}.id`, '?')} or exists (select 1 from permission_grant g where g.principal_id = ${alias}.id
      and g.scope = 'GLOBAL' and g.permissions && '{ADMIN,REALMS_FULL_READ}'::text[]))`,
    Array.from({ length: Object.keys(tables).length + 1 }, () => realmId),
  )

/** Takes all that a principal holds on these realms and on what is in them. */
export const removeGrantsWithin = async (
  em: EntityManager,
  principalId: string,
  realmIds: readonly string[],
): Promise<void> => {
  if (realmIds.length === 0) return
  const realms = `{${realmIds.join(',')}}`
  const remove = 'delete from permission_grant g where g.principal_id = ? and g.scope = ? and'
  await em.execute(`${remove} g.resource_id = any(?::uuid[])`, [principalId, 'REALM', realms])
  for (const [scope, table] of Object.entries(tables))
    await em.execute(
      `${remove} exists (select 1 from ${table} t where t.id = g.resource_id and t.realm_id = any(?::uuid[]))`,
      [principalId, scope, realms],
    )
}

/** A grant with the name of its resource. */
export interface NamedGrant {
  readonly id: string
  readonly name: string
  readonly permissions: string[]
}

const names: Readonly<Record<Scope, readonly [table: string, name: string]>> = {
  REALM: ['realm', 't.name'],
  POLICY: ['policy', 't.name'],
  END_ENTITY: ['end_entity', 'coalesce(t.common_name, t.alias, t.id::text)'],
  CERT_REQUEST: ['cert_request', 't.id::text'],
  CERTIFICATE: ['certificate', 'coalesce(t.subject_common_name, t.subject_dn)'],
}

/** A part of a list: so many rows after so many pages of them. */
interface Part {
  readonly page: number
  readonly size: number
}

/**
 * One page of the grants of a principal on a scope, each with the name of its resource, in the order of an index. Of a
 * million grants the first page of all lists and their totals took 0.9 s on two cores with twenty others at work, the
 * two-hundredth 4.4 s.
 */
export const grantsOf = (
  em: EntityManager,
  principalId: string,
  { scope, page, size }: Part & { readonly scope: Scope },
): Promise<NamedGrant[]> => {
  const [table, name] = names[scope]
  return em.execute(
    `select t.id, ${name} as name, g.permissions from (select resource_id, permissions from permission_grant
        where principal_id = ? and scope = ? order by resource_id limit ? offset ?) g
      join ${table} t on t.id = g.resource_id order by t.id`,
    [principalId, scope, size, page * size],
  )
}

/** On how many resources of each scope a principal holds something. */
export const countGrants = async (em: EntityManager, principalId: string): Promise<ReadonlyMap<string, number>> => {
  const rows = await em.execute<{ scope: string; count: string }[]>(
    'select scope, count(*) as count from permission_grant where principal_id = ? group by scope',
    [principalId],
  )
  return new Map(rows.map(({ scope, count }) => [scope, Number(count)]))
}

/** The names of the resources of a place, by scope. */
export const namesAt = async (em: EntityManager, place: Place): Promise<ReadonlyMap<Scope, string>> => {
  const found = new Map<Scope, string>()
  for (const [scope, [table, name]] of Object.entries(names) as [Scope, (typeof names)[Scope]][]) {
    const id = place[scope]
    const [row] = id
      ? await em.execute<{ name: string }[]>(`select ${name} as name from ${table} t where t.id = ?`, [id])
      : []
    if (row) found.set(scope, row.name)
  }
  return found
}

/** On how many resources of a scope a principal holds one of these permissions. */
export const countHeld = async (
  em: EntityManager,
  principalId: string,
  { scope, any }: { scope: Scope; any: readonly string[] },
): Promise<number> => {
  const [row] = await em.execute<{ count: string }[]>(
    `select count(*) as count from permission_grant where principal_id = ? and scope = ? and permissions && ?::text[]`,
    [principalId, scope, `{${any.join(',')}}`],
  )
  return Number(row?.count ?? 0)
}

/** A principal as people know it. */
export interface NamedPrincipal {
  readonly id: string
  readonly type: 'USER' | 'API_CLIENT'
  readonly name: string
  readonly enabled: boolean
}

/** The users and API clients with these ids, by name. */
export const findPrincipals = (em: EntityManager, ids: readonly string[]): Promise<NamedPrincipal[]> =>
  em.execute(
    `select id, 'USER' as type, coalesce(email, provider_id) as name, enabled from app_user where id = any(?::uuid[])
      union all select id, 'API_CLIENT', name, enabled from api_client where id = any(?::uuid[]) order by name, id`,
    [`{${ids.join(',')}}`, `{${ids.join(',')}}`],
  )

/** No more principals that could give a permission are searched for. */
const maxGivers = 1000

/** The enabled principals that may change grants at a place: holders of ADMIN, and of UPDATE on its realm. */
export const findGivers = async (em: EntityManager, { REALM }: Place): Promise<string[]> => {
  const rows = await em.execute<{ id: string }[]>(
    `select distinct g.principal_id as id from permission_grant g
      where ((g.scope = 'GLOBAL' and 'ADMIN' = any(g.permissions))
          or (g.scope = 'REALM' and g.resource_id = ?::uuid and 'UPDATE' = any(g.permissions)))
        and (exists (select 1 from app_user u where u.id = g.principal_id and u.enabled)
          or exists (select 1 from api_client c where c.id = g.principal_id and c.enabled)) limit ?`,
    [REALM ?? null, maxGivers],
  )
  return rows.map(({ id }) => id)
}

/** Answers the enabled holders of ADMIN, and keeps others from changing who they are until the transaction ends. */
export const enabledAdmins = async (em: EntityManager): Promise<string[]> => {
  await takeLock(em, 'ADMIN')
  const rows = await em.execute<{ id: string }[]>(
    `select g.principal_id as id from permission_grant g where g.scope = 'GLOBAL' and 'ADMIN' = any(g.permissions)
      and (exists (select 1 from app_user u where u.id = g.principal_id and u.enabled)
        or exists (select 1 from api_client c where c.id = g.principal_id and c.enabled))`,
  )
  return rows.map(({ id }) => id)
}
