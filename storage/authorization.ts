// Questions about grants beyond one place: anything within a realm, anywhere at all, everything of one principal.
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import type { Grants, Place, Scope } from '../domain/permissions.ts'
import { alias } from './search.ts'

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
    [`{${realmIds.join(',')}}`, principalId],
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

/** Adds what rights that look further ask: grants on anything in these realms, and on any realm or policy. */
export const lookFurther = async (em: EntityManager, grants: Grants, places: readonly Place[]): Promise<Grants> => {
  const realmIds = [...new Set(places.map(({ REALM }) => REALM).filter(id => id !== undefined))]
  const entered = await realmsEntered(em, grants.principalId, realmIds)
  const anywhere = await heldAnywhere(em, grants.principalId)
  return { ...grants, within: id => entered.has(id), anywhere: scope => anywhere.get(scope) ?? new Set() }
}

/** A condition that keeps the principals of a listed table that may enter a realm. */
export const canEnter = (realmId: string): RawQueryFragment =>
  raw(
    `(${within(`${alias}.id`, '?')} or exists (select 1 from permission_grant g where g.principal_id = ${alias}.id
      and g.scope = 'GLOBAL' and g.permissions && '{ADMIN,REALMS_FULL_READ}'::text[]))`,
    Array.from({ length: Object.keys(tables).length + 1 }, () => realmId),
  )

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

/** The grants of a principal on one scope, each with the name of its resource. */
export const grantsOf = (em: EntityManager, principalId: string, scope: Scope): Promise<NamedGrant[]> => {
  const [table, name] = names[scope]
  return em.execute(
    `select t.id, ${name} as name, g.permissions from permission_grant g join ${table} t on t.id = g.resource_id
      where g.principal_id = ? and g.scope = ? order by 2, 1`,
    [principalId, scope],
  )
}

/** Locks the question who holds ADMIN for the running transaction, and answers the enabled holders. */
export const enabledAdmins = async (em: EntityManager): Promise<string[]> => {
  await em.execute('select pg_advisory_xact_lock(7234003)')
  const rows = await em.execute<{ id: string }[]>(
    `select g.principal_id as id from permission_grant g where g.scope = 'GLOBAL' and 'ADMIN' = any(g.permissions)
      and (exists (select 1 from app_user u where u.id = g.principal_id and u.enabled)
        or exists (select 1 from api_client c where c.id = g.principal_id and c.enabled))`,
  )
  return rows.map(({ id }) => id)
}
