// Lists hold only what the caller may read (contract 1.3): the grants of the caller as a condition on a listed table.
import type { EntityManager, RawQueryFragment } from '@mikro-orm/postgresql'
import type { GlobalPermission } from '../../domain/permission-enums.ts'
import { isScoped, reachOf, type Right, type Scope, type Way } from '../../domain/permissions.ts'
import { among, anyOf } from './among.ts'

/** The columns of a listed table that lead to the scopes. */
export type ScopeColumns = Partial<Record<Scope, string>>

/** Who reads, as far as global permissions go. */
export interface Reader {
  readonly id: string
  readonly global: ReadonlySet<GlobalPermission>
}

const granted = async (
  em: EntityManager,
  { id }: Reader,
  { way, columns }: { way: Way; columns: ScopeColumns },
): Promise<RawQueryFragment | undefined> => {
  if (!isScoped(way)) return undefined
  const column = columns[way.on]
  if (!column) return undefined
  return among(em, column, {
    sql: `select resource_id as value from permission_grant
      where principal_id = ? and scope = ? and permissions && ?::text[]`,
    params: [id, way.on, `{${way.any.join(',')}}`],
    type: 'uuid',
  })
}

/** A condition that keeps only the rows that this principal may read; undefined where it may read all. */
export const readableRows = async (
  em: EntityManager,
  right: Right,
  { reader, columns }: { reader: Reader; columns: ScopeColumns },
): Promise<RawQueryFragment | undefined> => {
  const reach = reachOf(right, reader.global)
  if (reach.all) return undefined
  return anyOf(await Promise.all(reach.ways.map(way => granted(em, reader, { way, columns }))))
}
