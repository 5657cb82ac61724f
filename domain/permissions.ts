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

/** Where a resource hangs: the ids of itself and of what stands above it, who made it, and whose it is; or a principal. */
export interface Place {
  readonly REALM?: string | undefined
  readonly POLICY?: string | undefined
  readonly END_ENTITY?: string | undefined
  readonly CERT_REQUEST?: string | undefined
  readonly CERTIFICATE?: string | undefined
  readonly PRINCIPAL?: string | undefined
  readonly creatorId?: string | null | undefined
}

/** The grants of one principal, as far as they matter for a question. */
export interface Grants {
  readonly principalId: string
  readonly global: ReadonlySet<GlobalPermission>
  on(scope: Scope, id: string): ReadonlySet<string>
  /** Whether there is a grant on something in a realm. */
  within(realmId: string): boolean
  /** The permissions that are held on any resource of a scope. */
  anywhere(scope: Scope): ReadonlySet<string>
  /** Whether a principal, whoever it is, does not hold ADMIN. */
  isOrdinary(principalId: string): boolean
}

/** One way to hold a right: a permission on a scope of the place, a global one, or what the holder is to the place. */
export type Way =
  | { readonly on: Scope; readonly any: readonly string[] }
  | { readonly on: 'GLOBAL'; readonly any: readonly GlobalPermission[] }
  /** A permission on whatever resource of a scope. */
  | { readonly on: 'ANYWHERE'; readonly scope: Scope; readonly any: readonly string[] }
  /** Any grant on something in the realm of the place. */
  | { readonly on: 'WITHIN' }
  /** Having made what is at the place. */
  | { readonly on: 'CREATOR' }
  /** Being the principal of the place. */
  | { readonly on: 'SELF' }
  /** No hold of the principal: that of the place does not hold ADMIN. */
  | { readonly on: 'ORDINARY' }

/** Whether a way is a permission on a scope of the place. */
export const isScoped = (way: Way): way is Extract<Way, { on: Scope }> => way.on in scopes

const anyOf = (scope: Scope): Way => ({ on: scope, any: Object.keys(scopes[scope]) })
const onRealm = (...any: RealmPermission[]): Way => ({ on: 'REALM', any })
const onPolicy = (...any: PolicyPermission[]): Way => ({ on: 'POLICY', any })
const onEndEntity = (...any: EndEntityPermission[]): Way => ({ on: 'END_ENTITY', any })
const onRequest = (...any: CertRequestPermission[]): Way => ({ on: 'CERT_REQUEST', any })
const onCertificate = (...any: CertificatePermission[]): Way => ({ on: 'CERTIFICATE', any })
const globally = (...any: GlobalPermission[]): Way => ({ on: 'GLOBAL', any })
const anywhere = (scope: Scope, ...any: string[]): Way => ({ on: 'ANYWHERE', scope, any })
const within: Way = { on: 'WITHIN' }
const creator: Way = { on: 'CREATOR' }
const self: Way = { on: 'SELF' }
/** Beside what gives hold of a principal, or changes it: whose principal holds ADMIN, takes ADMIN (decision 32). */
const ordinary: Way = { on: 'ORDINARY' }

const readRequest = [
  onRealm('FULL_READ', 'CERTREQS_READ'),
  onPolicy('CERTREQS_READ', 'CERTREQS_APPROVE'),
  anyOf('CERT_REQUEST'),
]
const readCertificate = [onRealm('FULL_READ', 'CERTS_READ'), anyOf('POLICY'), anyOf('CERTIFICATE')]

/** Every right of contract 7: all groups must be satisfied, each by one of its ways. ADMIN satisfies every right. */
export const rights = {
  ADMIN: [[]],
  CREATE_REALM: [[globally('REALMS_CREATE')]],
  READ_REALM: [[anyOf('REALM')]],
  /** Naming a realm that only bounds a list. */
  ENTER_REALM: [[anyOf('REALM'), within]],
  UPDATE_REALM: [[onRealm('UPDATE')]],
  /** Seeing what goes on in a realm as a whole. */
  OVERSEE_REALM: [[onRealm('FULL_READ')]],
  ARCHIVE_REALM: [[onRealm('UPDATE', 'DELETE')]],
  CREATE_POLICY: [[onRealm('POLICIES_CREATE')]],
  READ_POLICY: [[onRealm('FULL_READ', 'POLICIES_READ'), anyOf('POLICY')]],
  UPDATE_POLICY: [[onPolicy('UPDATE')]],
  ARCHIVE_POLICY: [[onPolicy('UPDATE', 'DELETE')]],
  /** Using the signers of a policy, and having its end entities authenticated. */
  SIGN: [[onPolicy('SIGN')]],
  /** Seeing what policies can be made of. */
  SHAPE_POLICIES: [[anywhere('REALM', 'POLICIES_CREATE'), anywhere('POLICY', 'UPDATE')]],
  CREATE_END_ENTITY: [[onRealm('ENDENTITIES_CREATE')]],
  READ_END_ENTITY: [[onRealm('FULL_READ', 'ENDENTITIES_READ'), anyOf('END_ENTITY')]],
  UPDATE_END_ENTITY: [[onEndEntity('UPDATE')]],
  ARCHIVE_END_ENTITY: [[onEndEntity('UPDATE', 'DELETE')]],
  CREATE_CERT_REQUEST: [[onPolicy('CERTS_CREATE')]],
  READ_CERT_REQUEST: [readRequest],
  ISSUE: [[onPolicy('CERTS_CREATE')], readRequest],
  APPROVE: [[onRequest('APPROVE'), onPolicy('CERTREQS_APPROVE')]],
  DECLINE: [[onRequest('APPROVE'), onPolicy('CERTREQS_APPROVE'), creator]],
  RESEND_VERIFICATION: [[onRequest('UPDATE'), onPolicy('CERTS_CREATE')]],
  ARCHIVE_CERT_REQUEST: [[onRequest('DELETE'), onPolicy('DELETE')]],
  READ_CERTIFICATE: [readCertificate],
  REVOKE: [[onCertificate('REVOKE'), onPolicy('CERTS_REVOKE')]],
  ARCHIVE_CERTIFICATE: [[onCertificate('DELETE'), onPolicy('DELETE')]],
  DOWNLOAD_KEY: [readCertificate, [creator, onCertificate('DOWNLOAD_PRIVATE_KEY')]],
  /** The place of an order has its creator, that of a single one also its request. */
  READ_ORDER: [[creator, ...readRequest]],
  READ_USER: [[globally('USERS_READ'), self]],
  LIST_USERS: [[globally('USERS_READ')]],
  CREATE_USER: [[globally('USERS_CREATE')]],
  UPDATE_USER: [[globally('USERS_UPDATE')], [ordinary]],
  /** Making RA certificates of several users; RENEW_RA_CERTIFICATE is asked for each. */
  RENEW_RA_CERTIFICATES: [[globally('USERS_UPDATE')]],
  /** Making the RA certificate of a user, and revoking it. */
  RENEW_RA_CERTIFICATE: [[globally('USERS_UPDATE'), self], [ordinary]],
  REVOKE_RA_CERTIFICATE: [[globally('USERS_UPDATE'), self], [ordinary]],
  /** The place has the user, and who made the RA certificate. */
  DOWNLOAD_RA_KEY: [[self, creator], [ordinary]],
  /** Asking what somebody may do, and why. */
  EXPLAIN_PERMISSION: [[self]],
  READ_API_CLIENT: [[globally('APICLIENTS_READ'), self]],
  LIST_API_CLIENTS: [[globally('APICLIENTS_READ')]],
  CREATE_API_CLIENT: [[globally('APICLIENTS_CREATE')]],
  UPDATE_API_CLIENT: [[globally('APICLIENTS_UPDATE')], [ordinary]],
  RESET_API_CLIENT: [[globally('APICLIENTS_UPDATE'), self], [ordinary]],
  DELETE_API_CLIENT: [[globally('APICLIENTS_DELETE')], [ordinary]],
  /** Holding what an API client is granted on its realm (contract 7.2). */
  SHARE_REALM: [[onRealm('FULL_READ')], [onRealm('ENDENTITIES_CREATE')]],
  /** Holding what it is granted on its default policy; READ is included in both. */
  SHARE_POLICY: [[onPolicy('CERTS_CREATE')], [onPolicy('SIGN')]],
} as const satisfies Record<string, readonly (readonly Way[])[]>
export type Right = keyof typeof rights

/** What a right was held by: a way and, unless it is what the holder is, the permission. */
export interface Held {
  readonly way: Way
  readonly permission?: string
}

/** The answer of the walk: the verdict, what decided it, and the ways that would have served, one of each list. */
export interface Verdict {
  readonly allowed: boolean
  readonly by: readonly Held[]
  readonly wouldServe: readonly (readonly Way[])[]
}

const includesRealmRead = (way: Way): boolean => way.on === 'REALM' && way.any.includes('FULL_READ')

const found = (way: Extract<Way, { any: unknown }>, held: ReadonlySet<string>): Held | undefined => {
  const permission = way.any.find(one => held.has(one))
  return permission === undefined ? undefined : { way, permission }
}

const heldOnScope = (way: Extract<Way, { on: Scope }>, place: Place, grants: Grants): Held | undefined => {
  const id = place[way.on]
  if (id === undefined) return undefined
  if (includesRealmRead(way) && grants.global.has('REALMS_FULL_READ'))
    return { way: globally('REALMS_FULL_READ'), permission: 'REALMS_FULL_READ' }
  return found(way, grants.on(way.on, id))
}

const heldBy = (way: Way, place: Place, grants: Grants): Held | undefined => {
  if (way.on === 'CREATOR') return place.creatorId === grants.principalId ? { way } : undefined
  if (way.on === 'SELF') return place.PRINCIPAL === grants.principalId ? { way } : undefined
  if (way.on === 'ORDINARY') return place.PRINCIPAL && grants.isOrdinary(place.PRINCIPAL) ? { way } : undefined
  if (way.on === 'WITHIN') return place.REALM && grants.within(place.REALM) ? { way } : undefined
  if (way.on === 'ANYWHERE') return found(way, grants.anywhere(way.scope))
  if (way.on === 'GLOBAL') return found(way, grants.global)
  return heldOnScope(way, place, grants)
}

const orGlobally = (ways: readonly Way[]): readonly Way[] => [
  ways.some(includesRealmRead) ? globally('ADMIN', 'REALMS_FULL_READ') : globally('ADMIN'),
  ...ways,
]

/** Who has the key of a user's certificate, or revokes it, has hold of the user: the way to it does not matter. */
const getsHold: ReadonlySet<Right> = new Set<Right>(['REVOKE', 'DOWNLOAD_KEY'])

const groupsOf = (right: Right, { CERTIFICATE, PRINCIPAL }: Place = {}): readonly (readonly Way[])[] =>
  CERTIFICATE && PRINCIPAL && getsHold.has(right) ? [...rights[right], [ordinary]] : rights[right]

/** Decides whether the holder of these grants has a right on the resource at this place, and says why. */
export const decide = (right: Right, place: Place, grants: Grants): Verdict => {
  if (grants.global.has('ADMIN'))
    return { allowed: true, by: [{ way: globally('ADMIN'), permission: 'ADMIN' }], wouldServe: [] }
  const groups = groupsOf(right, place)
  const held = groups.map(ways => ways.map(way => heldBy(way, place, grants)).find(one => one !== undefined))
  const missing = groups.filter((_, index) => held[index] === undefined)
  return {
    allowed: missing.length === 0,
    by: held.filter(one => one !== undefined),
    wouldServe: missing.map(orGlobally),
  }
}

const everyWay = (right: Right, kinds: readonly Way['on'][]): boolean =>
  groupsOf(right).every(ways => ways.every(({ on }) => kinds.includes(on)))

/** Whether a right hangs on global permissions alone, so that it is asked before the existence of a resource. */
export const isGlobal = (right: Right): boolean => everyWay(right, ['GLOBAL', 'SELF', 'ORDINARY'])

/** Whether a right can be held at no place at all. */
export const isPlaceless = (right: Right): boolean => everyWay(right, ['GLOBAL', 'ANYWHERE'])

/** Whether a right can be held at a place in a way of this kind. */
export const hasWay = (right: Right, kind: Way['on'], place: Place): boolean =>
  groupsOf(right, place).some(ways => ways.some(({ on }) => on === kind))

/** What a list may hold: everything, or what hangs on these realms and policies, or carries a grant of its own. */
export type Reach = { readonly all: true } | { readonly all: false; readonly ways: readonly Way[] }

/** The reach of a reading right for the holder of these global permissions. */
export const reachOf = (right: Right, global: ReadonlySet<GlobalPermission>): Reach =>
  global.has('ADMIN') || global.has('REALMS_FULL_READ') ? { all: true } : { all: false, ways: rights[right].flat() }
