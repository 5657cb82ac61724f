// What the holder of permissions may hand out (contract 7.3): nobody gives what he does not hold.
import { RealmPermission } from './permission-enums.ts'
import { decide, isScoped, type Grants, type Place, type Scope, type Way } from './permissions.ts'

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

/** What is held on a resource: REALMS_FULL_READ is FULL_READ on every realm. */
const heldOn = (scope: Scope, id: string, grants: Grants): string[] => {
  const everywhere = scope === 'REALM' && grants.global.has('REALMS_FULL_READ') ? ['FULL_READ'] : []
  return [...grants.on(scope, id), ...everywhere]
}

/** A wished change of what a principal holds on one resource. */
export interface GrantChange {
  readonly scope: Scope
  readonly id: string
  readonly place: Place
  readonly before: Iterable<string>
  readonly after: Iterable<string>
}

/** Whether the giver may change grants on what is at a place: ADMIN, or UPDATE on its realm. */
export const mayGrantAt = (place: Place, giver: Grants): boolean =>
  decide('UPDATE_REALM', { REALM: place.REALM }, giver).allowed

/** The permissions that a change hands out although the giver, who is no ADMIN, does not hold them. */
export const withheld = ({ scope, id, before, after }: GrantChange, giver: Grants): string[] =>
  giver.global.has('ADMIN') ? [] : notOwn(scope, { giver: heldOn(scope, id, giver), before, after })

/** Whether the giver could hand out, on what is at a place, a way of each of these lists. */
export const couldServe = (lists: readonly (readonly Way[])[], place: Place, giver: Grants): boolean => {
  if (giver.global.has('ADMIN')) return true
  const canGive = (way: Way): boolean => {
    const id = isScoped(way) ? place[way.on] : undefined
    if (!isScoped(way) || id === undefined) return false
    const own = wholeOf(way.on, heldOn(way.on, id, giver))
    return way.any.some(permission => own.has(permission))
  }
  return mayGrantAt(place, giver) && lists.every(ways => ways.some(canGive))
}
