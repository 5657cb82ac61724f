// What the holder of permissions may hand out (contract 7.3): nobody gives what he does not hold.
import { RealmPermission } from './permission-enums.ts'
import type { Scope } from './permissions.ts'

const realmReads = Object.keys(RealmPermission).filter(permission => permission.endsWith('READ'))

/** What one permission includes on the resource that it is held on (contract 7.1). */
const inclusions: Partial<Record<Scope, Readonly<Record<string, readonly string[]>>>> = {
  REALM: { FULL_READ: realmReads },
  POLICY: { CERTREQS_APPROVE: ['CERTREQS_READ'] },
}

/** Everything that permissions on one resource come to, READ of it included. */
export const wholeOf = (scope: Scope, held: Iterable<string>): ReadonlySet<string> => {
  const own = [...held]
  const included = own.flatMap(permission => ['READ', ...(inclusions[scope]?.[permission] ?? [])])
  return new Set([...own, ...included])
}

/** The permissions that would be new to the receiver and that the giver does not hold. */
export const notOwn = (
  scope: Scope,
  { giver, before, after }: { giver: Iterable<string>; before: Iterable<string>; after: Iterable<string> },
): string[] => {
  const own = wholeOf(scope, giver)
  const old = new Set(before)
  return [...after].filter(permission => !old.has(permission) && !own.has(permission))
}
