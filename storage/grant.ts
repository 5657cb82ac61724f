// Grants in the database: loading what matters for a question, giving, replacing, and filtering lists in SQL.
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import type { GlobalPermission } from '../domain/permission-enums.ts'
import { reachOf, type Grants, type Place, type Right, type Scope, type Way } from '../domain/permissions.ts'
import { PermissionGrant } from './permission-grant.ts'

const keys = ['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'] as const satisfies readonly Scope[]
const nothing: ReadonlySet<string> = new Set()

const idsOf = (places: readonly Place[]): string[] => [
  ...new Set(places.flatMap(place => keys.map(key => place[key]).filter(id => id !== undefined))),
]

/** Loads the global grants of a principal and those on these places. */
export const loadGrants = async (
  em: EntityManager,
  principalId: string,
  places: readonly Place[] = [],
): Promise<Grants> => {
  const resourceIds = [principalId, ...idsOf(places)]
  const rows = await em.execute<{ scope: string; resource_id: string; permissions: string[] }[]>(
    `select scope, resource_id, permissions from permission_grant
      where principal_id = ? and resource_id = any(?::uuid[])`,
    [principalId, `{${resourceIds.join(',')}}`],
  )
  const held = new Map(rows.map(row => [`${row.scope}/${row.resource_id}`, new Set(row.permissions)]))
  return {
    principalId,
    global: (held.get(`GLOBAL/${principalId}`) ?? nothing) as ReadonlySet<GlobalPermission>,
    on: (scope, id) => held.get(`${scope}/${id}`) ?? nothing,
  }
}

/** Adds permissions to what a principal holds on a resource (contract 7.2). */
export const grant = async (
  em: EntityManager,
  principalId: string | null,
  {
    scope,
    resourceIds,
    permissions,
  }: { scope: Scope | 'GLOBAL'; resourceIds: readonly string[]; permissions: readonly string[] },
): Promise<void> => {
  if (principalId === null || resourceIds.length === 0) return
  await em.execute(
    `insert into permission_grant (principal_id, scope, resource_id, permissions)
     select ?, ?, id, ?::text[] from unnest(?::uuid[]) as id
     on conflict (principal_id, scope, resource_id) do update set permissions =
       (select array_agg(distinct p) from unnest(permission_grant.permissions || excluded.permissions) as p)`,
    [principalId, scope, `{${permissions.join(',')}}`, `{${resourceIds.join(',')}}`],
  )
}

/** Gives permissions on a resource that is being made: the flush that makes it writes them as well. */
export const grantNew = (
  em: EntityManager,
  principalId: string,
  { scope, resourceId, permissions }: { scope: Scope; resourceId: string; permissions: readonly string[] },
): void => void em.create(PermissionGrant, { principalId, scope, resourceId, permissions: [...permissions] })

/** Replaces what a principal holds on a resource; an empty list removes the grant (contract 7.3). */
export const replaceGrant = async (
  em: EntityManager,
  principalId: string,
  { scope, resourceId, permissions }: { scope: Scope | 'GLOBAL'; resourceId: string; permissions: readonly string[] },
): Promise<void> => {
  if (permissions.length === 0) await em.nativeDelete(PermissionGrant, { principalId, scope, resourceId })
  else await em.upsert(PermissionGrant, { principalId, scope, resourceId, permissions: [...permissions] })
}

/** The columns of a listed table that lead to the scopes. */
export type ScopeColumns = Partial<Record<Scope, string>>

const clauseOf = (way: Way, columns: ScopeColumns): string | undefined => {
  if (way.on === 'GLOBAL' || way.on === 'CREATOR') return undefined
  const column = columns[way.on]
  if (!column) return undefined
  return `${column} in (select resource_id from permission_grant where principal_id = ? and scope = '${way.on}' and permissions && '{${way.any.join(',')}}'::text[])`
}

/** A condition that keeps only the rows that this principal may read; undefined where it may read all. */
export const readable = (
  right: Right,
  { id, global }: { id: string; global: ReadonlySet<GlobalPermission> },
  columns: ScopeColumns,
): RawQueryFragment | undefined => {
  const reach = reachOf(right, global)
  if (reach.all) return undefined
  const clauses = reach.ways.map(way => clauseOf(way, columns)).filter(clause => clause !== undefined)
  if (clauses.length === 0) return raw('false')
  return raw(
    `(${clauses.join(' or ')})`,
    clauses.map(() => id),
  )
}
