// Who may do what (contract 7): the rights as a table, and one pure walk over it (resource -> policy -> realm -> global).
import {
  CertificatePermission,
  CertRequestPermission,
  EndEntityPermission,
  PolicyPermission,
  RealmPermission,
  type GlobalPermission,
} from './permission-enums.ts'

/** The scopes of grants below the global one, and the permissions that each knows. */
export const scopes = {
  REALM: RealmPermission,
  POLICY: PolicyPermission,
  END_ENTITY: EndEntityPermission,
  CERT_REQUEST: CertRequestPermission,
  CERTIFICATE: CertificatePermission,
} as const
export type Scope = keyof typeof scopes

/** Where a resource hangs: the ids of itself and of what stands above it, and who made it. */
export interface Place {
  readonly REALM?: string | undefined
  readonly POLICY?: string | undefined
  readonly END_ENTITY?: string | undefined
  readonly CERT_REQUEST?: string | undefined
  readonly CERTIFICATE?: string | undefined
  readonly creatorId?: string | null | undefined
}

/** The grants of one principal, as far as they matter for a question. */
export interface Grants {
  readonly principalId: string
  readonly global: ReadonlySet<GlobalPermission>
  on(scope: Scope, id: string): ReadonlySet<string>
}

/** One way to hold a right: a permission on a scope of the place, a global one, or being its creator. */
export type Way =
  | { readonly on: Scope; readonly any: readonly string[] }
  | { readonly on: 'GLOBAL'; readonly any: readonly GlobalPermission[] }
  | { readonly on: 'CREATOR' }

const anyOf = (scope: Scope): Way => ({ on: scope, any: Object.keys(scopes[scope]) })
const onRealm = (...any: RealmPermission[]): Way => ({ on: 'REALM', any })
const onPolicy = (...any: PolicyPermission[]): Way => ({ on: 'POLICY', any })
const onEndEntity = (...any: EndEntityPermission[]): Way => ({ on: 'END_ENTITY', any })
const onRequest = (...any: CertRequestPermission[]): Way => ({ on: 'CERT_REQUEST', any })
const onCertificate = (...any: CertificatePermission[]): Way => ({ on: 'CERTIFICATE', any })
const globally = (...any: GlobalPermission[]): Way => ({ on: 'GLOBAL', any })
const creator: Way = { on: 'CREATOR' }

const readCertificate = [onRealm('FULL_READ', 'CERTS_READ'), anyOf('POLICY'), anyOf('CERTIFICATE')]

/** Every right of contract 7: all groups must be satisfied, each by one of its ways. ADMIN satisfies every right. */
export const rights = {
  ADMIN: [[]],
  CREATE_REALM: [[globally('REALMS_CREATE')]],
  READ_REALM: [[anyOf('REALM')]],
  UPDATE_REALM: [[onRealm('UPDATE')]],
  CREATE_POLICY: [[onRealm('POLICIES_CREATE')]],
  READ_POLICY: [[onRealm('FULL_READ', 'POLICIES_READ'), anyOf('POLICY')]],
  UPDATE_POLICY: [[onPolicy('UPDATE')]],
  CREATE_END_ENTITY: [[onRealm('ENDENTITIES_CREATE')]],
  READ_END_ENTITY: [[onRealm('FULL_READ', 'ENDENTITIES_READ'), anyOf('END_ENTITY')]],
  UPDATE_END_ENTITY: [[onEndEntity('UPDATE')]],
  CREATE_CERT_REQUEST: [[onPolicy('CERTS_CREATE')]],
  READ_CERT_REQUEST: [
    [onRealm('FULL_READ', 'CERTREQS_READ'), onPolicy('CERTREQS_READ', 'CERTREQS_APPROVE'), anyOf('CERT_REQUEST')],
  ],
  ISSUE: [
    [onPolicy('CERTS_CREATE')],
    [onRealm('FULL_READ', 'CERTREQS_READ'), onPolicy('CERTREQS_READ', 'CERTREQS_APPROVE'), anyOf('CERT_REQUEST')],
  ],
  APPROVE: [[onRequest('APPROVE'), onPolicy('CERTREQS_APPROVE')]],
  DECLINE: [[onRequest('APPROVE'), onPolicy('CERTREQS_APPROVE'), creator]],
  READ_CERTIFICATE: [readCertificate],
  DOWNLOAD_KEY: [readCertificate, [creator, onCertificate('DOWNLOAD_PRIVATE_KEY')]],
} as const satisfies Record<string, readonly (readonly Way[])[]>
export type Right = keyof typeof rights

/** The answer of the walk: the verdict, what decided it, and every way that would have served. */
export interface Verdict {
  readonly allowed: boolean
  readonly by: readonly Way[]
  readonly wouldServe: readonly Way[]
}

const includesRealmRead = (way: Way): boolean => way.on === 'REALM' && way.any.includes('FULL_READ')

const holds = (way: Way, place: Place, grants: Grants): boolean => {
  if (way.on === 'CREATOR') return place.creatorId === grants.principalId
  if (way.on === 'GLOBAL') return way.any.some(permission => grants.global.has(permission))
  const id = place[way.on]
  if (id === undefined) return false
  if (includesRealmRead(way) && grants.global.has('REALMS_FULL_READ')) return true
  const held = grants.on(way.on, id)
  return way.any.some(permission => held.has(permission))
}

/** Decides whether the holder of these grants has a right on the resource at this place, and says why. */
export const decide = (right: Right, place: Place, grants: Grants): Verdict => {
  const groups: readonly (readonly Way[])[] = rights[right]
  if (grants.global.has('ADMIN')) return { allowed: true, by: [globally('ADMIN')], wouldServe: [] }
  const found = groups.map(ways => ways.find(way => holds(way, place, grants)))
  const by = found.filter(way => way !== undefined)
  const missing = groups.filter((_, index) => found[index] === undefined).flat()
  return { allowed: by.length === groups.length, by, wouldServe: [globally('ADMIN'), ...missing] }
}

/** Whether a right hangs on global permissions alone, so that it is asked before the existence of a resource. */
export const isGlobal = (right: Right): boolean =>
  (rights[right] as readonly (readonly Way[])[]).every(ways => ways.every(way => way.on === 'GLOBAL'))

/** What a list may hold: everything, or what hangs on these realms and policies, or carries a grant of its own. */
export type Reach = { readonly all: true } | { readonly all: false; readonly ways: readonly Way[] }

/** The reach of a reading right for the holder of these global permissions. */
export const reachOf = (right: Right, global: ReadonlySet<GlobalPermission>): Reach =>
  global.has('ADMIN') || global.has('REALMS_FULL_READ') ? { all: true } : { all: false, ways: rights[right].flat() }
