// How resources are written: what belongs together is stored in one transaction (contract 7.2, 11.1).
import { isDeepStrictEqual } from 'node:util'
import type { RequiredEntityData } from '@mikro-orm/postgresql'
import type { Scope } from '../../domain/permissions.ts'
import type { EntityType } from '../../storage/entity-rows.ts'
import { storeNew } from '../../storage/store-new.ts'
import type { Surroundings } from './operation.ts'

/** A new resource: what it is made of, its scope, and the sentence that records it. */
export interface Creation<T extends object> {
  readonly entity: EntityType<T>
  readonly data: RequiredEntityData<T>
  readonly what: string
  readonly realmId?: string
  /** What its creator is granted on (contract 7.2); without it nobody gets a grant. */
  readonly scope?: Scope
}

/** Stores a new resource, gives its maker the grant and records it, all of it or nothing. */
export const create = <T extends { id: string }>(
  { em, clock }: Pick<Surroundings, 'em' | 'clock'>,
  { entity, data, what, realmId, scope }: Creation<T>,
): Promise<T> =>
  storeNew<T>(em, {
    entity,
    data,
    scope,
    now: clock(),
    fact: ({ id }) => ({
      type: 'ENTITY_CREATED',
      objectId: id,
      realmId: realmId ?? (scope === 'REALM' ? id : null),
      what: `${what} created`,
    }),
  })

type Changes<T> = { readonly [K in Exclude<keyof T, 'version'>]?: T[K] | undefined } & { readonly version?: unknown }

/**
 * Sets the members that are stated (but `version`, which only compares) and answers whether any of them is another one
 * now: a change of nothing is no change, neither for the version nor for the audit log.
 */
export const change = <T extends object>(target: T, changes: Changes<NoInfer<T>>): boolean => {
  const others = Object.entries(changes).filter(
    ([member, value]) =>
      value !== undefined && member !== 'version' && !isDeepStrictEqual(value, Reflect.get(target, member)),
  )
  for (const [member, value] of others) Reflect.set(target, member, value)
  return others.length > 0
}
