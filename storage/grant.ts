// Grants in the database: loading those that matter for a decision, adding and replacing them.
import type { EntityManager } from '@mikro-orm/postgresql'
import { creatorGrants } from '../domain/creator-grants.ts'
import type { GlobalPermission } from '../domain/permission-enums.ts'
import type { Grants, Place, Scope } from '../domain/permissions.ts'
import { findTogetherWith, type Aside, type Named } from './entity-rows.ts'
import { PermissionGrant } from './rows/permission-grant.ts'
import { anyOf, statement } from './statement.ts'

const keys = ['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'] as const satisfies readonly Scope[]
const nothing: ReadonlySet<string> = new Set()

const idsOf = (places: readonly Place[]): string[] => [
  ...new Set(places.flatMap(place => keys.map(key => place[key]).filter(id => id !== undefined))),
]

/** A grant as it stands in the records. */
export interface GrantRow {
  readonly scope: string
  readonly resource_id: string
  readonly permissions: readonly string[]
}

const forOne = statement<GrantRow>(
  `select scope, resource_id, permissions from permission_grant where principal_id = $1 and resource_id = ${anyOf('$2::uuid[]')}`,
)

/**
 * What a principal holds, as far as it was asked for: the global permissions, and the grants on some resources. More is
 * read when places are asked that are not among them; `loadWiderGrants` of authorization.ts adds what no place names.
 */
export class HeldGrants implements Grants {
  readonly principalId: string
  readonly #held = new Map<string, ReadonlySet<string>>()
  readonly #asked = new Set<string>()

  /** Takes the grants on the principal itself, which are the global ones, and on these resources. */
  constructor(principalId: string, rows: readonly GrantRow[], resourceIds: readonly string[]) {
    this.principalId = principalId
    this.#take(rows, resourceIds)
  }

  get global(): ReadonlySet<GlobalPermission> {
    return this.on('GLOBAL', this.principalId) as ReadonlySet<GlobalPermission>
  }

  on(scope: Scope | 'GLOBAL', id: string): ReadonlySet<string> {
    return this.#held.get(`${scope}/${id}`) ?? nothing
  }

  // Only `loadWiderGrants` knows more.
  within(): boolean {
    return false
  }

  anywhere(): ReadonlySet<string> {
    return nothing
  }

  isOrdinary(): boolean {
    return false
  }

  /** Reads what is missing of the grants on these places, in one statement. */
  async reach(em: EntityManager, places: readonly Place[]): Promise<this> {
    const missing = idsOf(places).filter(id => !this.#asked.has(id))
    if (missing.length > 0) this.#take(await forOne.all(em, [this.principalId, missing]), missing)
    return this
  }

  #take(rows: readonly GrantRow[], resourceIds: readonly string[]): void {
    for (const { scope, resource_id: id, permissions } of rows) this.#held.set(`${scope}/${id}`, new Set(permissions))
    for (const id of resourceIds) this.#asked.add(id)
  }
}

/** Loads the global grants of a principal and those on these places. */
export const loadGrants = async (
  em: EntityManager,
  principalId: string,
  places: readonly Place[] = [],
): Promise<HeldGrants> => {
  // Global grants stand on the principal itself.
  const ids = [principalId, ...idsOf(places)]
  return new HeldGrants(principalId, await forOne.all(em, [principalId, ids]), ids)
}

/** The members by which rows name what their grants may stand on as well. */
const parents = ['realmId', 'policyId', 'endEntityId', 'certRequestId']

/** The grants of a principal on itself, on rows and on their parents. */
const grantsOn = (principalId: string): Aside => ({
  expression: (parts, first) => {
    const columns = parts.flatMap(({ meta, alias }) => [
      `${alias}.id`,
      ...meta.props
        .filter(({ name, persist }) => parents.includes(name) && persist !== false)
        .map(({ fieldNames: [column] }) => `${alias}."${column}"`),
    ])
    return `(select json_build_object('ids', to_json(asked.ids), 'rows', coalesce(json_agg(g) filter (where g.scope is not null), '[]'))
      from (select array_remove(array[$${first}::uuid, ${columns.join(', ')}], null) as ids) asked
        left join lateral (select scope, resource_id, permissions from permission_grant
          where principal_id = $${first} and resource_id = any(asked.ids)) g on true group by asked.ids)`
  },
  values: [principalId],
})

/** Rows as `findTogether` reads them, and in the same statement what a principal holds on them, on their parents and globally. */
export const findWithGrants = async (
  em: EntityManager,
  principalId: string,
  all: readonly Named[],
): Promise<{ readonly rows: readonly (object | null)[]; readonly held: HeldGrants | undefined }> => {
  const { rows, aside } = await findTogetherWith(em, all, grantsOn(principalId))
  const read = aside as { ids: string[]; rows: GrantRow[] } | undefined
  return { rows, held: read && new HeldGrants(principalId, read.rows, read.ids) }
}

/** Loads the same for several principals. */
export const loadGrantsOfAll = async (
  em: EntityManager,
  principalIds: readonly string[],
  places: readonly Place[],
): Promise<Grants[]> => {
  const ids = [...principalIds, ...idsOf(places)]
  const rows = await em.execute<(GrantRow & { principal_id: string })[]>(
    `select principal_id, scope, resource_id, permissions from permission_grant
      where principal_id = any(?::uuid[]) and resource_id = any(?::uuid[])`,
    [`{${principalIds.join(',')}}`, `{${ids.join(',')}}`],
  )
  const byPrincipal = Map.groupBy(rows, row => row.principal_id)
  return principalIds.map(id => new HeldGrants(id, byPrincipal.get(id) ?? [], ids))
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

/** Grants the creator of resources of one scope what contract 7.2 says; the service itself is granted nothing. */
export const grantCreator = (
  em: EntityManager,
  creatorId: string | null,
  { scope, resourceIds }: { scope: Scope; resourceIds: readonly string[] },
): Promise<void> => grant(em, creatorId, { scope, resourceIds, permissions: creatorGrants[scope] })

/** The permissions that a principal is to hold on one resource. */
export interface ResourceGrant {
  readonly id: string
  readonly permissions: readonly string[]
}

/** Replaces what a principal holds on resources of one scope; an empty list removes the grant (contract 7.3). */
export const replaceGrants = async (
  em: EntityManager,
  principalId: string,
  { scope, grants }: { scope: Scope | 'GLOBAL'; grants: readonly ResourceGrant[] },
): Promise<void> => {
  const removed = grants.filter(({ permissions }) => permissions.length === 0).map(({ id }) => id)
  const kept = grants.filter(({ permissions }) => permissions.length > 0)
  if (removed.length > 0) await em.nativeDelete(PermissionGrant, { principalId, scope, resourceId: { $in: removed } })
  await em.execute(
    `insert into permission_grant (principal_id, scope, resource_id, permissions)
     select ?, ?, (kept->>'id')::uuid, array(select jsonb_array_elements_text(kept->'permissions'))
       from jsonb_array_elements(?::jsonb) as kept
     on conflict (principal_id, scope, resource_id) do update set permissions = excluded.permissions`,
    [principalId, scope, JSON.stringify(kept)],
  )
}
