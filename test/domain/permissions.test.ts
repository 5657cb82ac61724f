// The table of rights and the walk over the grants (contract 7.1).
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { couldServe, notOwn, wholeOf } from '../../domain/grant-rules.ts'
import { GlobalPermission as GlobalPermissions, type GlobalPermission } from '../../domain/permission-enums.ts'
import {
  decide,
  isGlobal,
  isPlaceless,
  reachOf,
  rights,
  scopes,
  type Grants,
  type Place,
  type Right,
  type Scope,
} from '../../domain/permissions.ts'

type Held = readonly (readonly [Scope, string, readonly string[]])[]

/** Everything whose id ends with 1 is in the realm r1. */
const grants = (global: readonly GlobalPermission[], held: Held = []): Grants => ({
  principalId: 'me',
  global: new Set(global),
  on: (scope, id) => new Set(held.filter(([on, at]) => on === scope && at === id).flatMap(([, , given]) => given)),
  within: realmId => held.some(([, id]) => id.at(-1) === realmId.at(-1)),
  anywhere: scope => new Set(held.filter(([on]) => on === scope).flatMap(([, , given]) => given)),
  isOrdinary: id => id !== 'boss',
})

const certificate: Place = { REALM: 'r1', POLICY: 'p1', CERTIFICATE: 'c1', creatorId: 'maker' }
const request: Place = { REALM: 'r1', POLICY: 'p1', CERT_REQUEST: 'q1', creatorId: 'maker' }
const policy: Place = { REALM: 'r1', POLICY: 'p1' }
const endEntity: Place = { REALM: 'r1', END_ENTITY: 'e1' }
const realm: Place = { REALM: 'r1' }

const allRights = Object.keys(rights) as Right[]

test.each(allRights)('ADMIN holds %s everywhere', right =>
  expect(decide(right, certificate, grants(['ADMIN'])).allowed).toBe(true),
)

test.each(allRights)('nobody holds %s without a grant', right =>
  expect(decide(right, { ...certificate, ...request, ...endEntity }, grants([])).allowed).toBe(false),
)

const reading: [Right, Place][] = [
  ['READ_REALM', realm],
  ['READ_POLICY', policy],
  ['READ_END_ENTITY', endEntity],
  ['READ_CERT_REQUEST', request],
  ['READ_CERTIFICATE', certificate],
]

test.each(reading)('REALMS_FULL_READ includes %s', (right, place) =>
  expect(decide(right, place, grants(['REALMS_FULL_READ'])).allowed).toBe(true),
)

test.each(reading)('FULL_READ of its realm includes %s', (right, place) =>
  expect(decide(right, place, grants([], [['REALM', 'r1', ['FULL_READ']]])).allowed).toBe(true),
)

test.each(reading)('everything on another realm does not include %s', (right, place) =>
  expect(decide(right, place, grants([], [['REALM', 'r2', Object.keys(scopes.REALM)]])).allowed).toBe(false),
)

const ownScope = (Object.keys(scopes) as Scope[]).flatMap(scope =>
  Object.keys(scopes[scope]).map((permission): [Scope, string] => [scope, permission]),
)

test.each(ownScope)('%s permission %s includes reading the resource', (scope, permission) => {
  const [right, place] = reading[['REALM', 'POLICY', 'END_ENTITY', 'CERT_REQUEST', 'CERTIFICATE'].indexOf(scope)] ?? []
  const id = place?.[scope] ?? ''
  expect(decide(right ?? 'ADMIN', place ?? {}, grants([], [[scope, id, [permission]]])).allowed).toBe(true)
})

test.each<[Right, Place, Scope, string, string, boolean]>([
  ['READ_POLICY', policy, 'REALM', 'r1', 'POLICIES_READ', true],
  ['READ_POLICY', policy, 'REALM', 'r1', 'READ', false],
  ['READ_POLICY', policy, 'REALM', 'r1', 'POLICIES_CREATE', false],
  ['READ_END_ENTITY', endEntity, 'REALM', 'r1', 'ENDENTITIES_READ', true],
  ['READ_END_ENTITY', endEntity, 'REALM', 'r1', 'ENDENTITIES_CREATE', false],
  ['READ_CERT_REQUEST', request, 'REALM', 'r1', 'CERTREQS_READ', true],
  ['READ_CERT_REQUEST', request, 'POLICY', 'p1', 'CERTREQS_READ', true],
  ['READ_CERT_REQUEST', request, 'POLICY', 'p1', 'CERTREQS_APPROVE', true],
  ['READ_CERT_REQUEST', request, 'POLICY', 'p1', 'READ', false],
  ['READ_CERT_REQUEST', request, 'POLICY', 'p2', 'CERTREQS_READ', false],
  ['READ_CERTIFICATE', certificate, 'REALM', 'r1', 'CERTS_READ', true],
  ['READ_CERTIFICATE', certificate, 'REALM', 'r1', 'READ', false],
  ['READ_CERTIFICATE', certificate, 'POLICY', 'p1', 'SIGN', true],
  ['READ_CERTIFICATE', certificate, 'POLICY', 'p2', 'SIGN', false],
  ['UPDATE_REALM', realm, 'REALM', 'r1', 'FULL_READ', false],
  ['UPDATE_REALM', realm, 'REALM', 'r1', 'UPDATE', true],
  ['CREATE_POLICY', realm, 'REALM', 'r1', 'POLICIES_CREATE', true],
  ['CREATE_POLICY', realm, 'REALM', 'r1', 'UPDATE', false],
  ['CREATE_END_ENTITY', realm, 'REALM', 'r1', 'ENDENTITIES_CREATE', true],
  ['UPDATE_POLICY', policy, 'POLICY', 'p1', 'UPDATE', true],
  ['UPDATE_POLICY', policy, 'REALM', 'r1', 'UPDATE', false],
  ['CREATE_CERT_REQUEST', policy, 'POLICY', 'p1', 'CERTS_CREATE', true],
  ['APPROVE', request, 'CERT_REQUEST', 'q1', 'APPROVE', true],
  ['APPROVE', request, 'POLICY', 'p1', 'CERTREQS_APPROVE', true],
  ['APPROVE', request, 'POLICY', 'p1', 'CERTREQS_READ', false],
  ['ISSUE', request, 'POLICY', 'p1', 'CERTS_CREATE', false],
])('%s at %j with %s %s %s: %s', (...[right, place, scope, id, permission, allowed]) =>
  expect(decide(right, place, grants([], [[scope, id, [permission]]])).allowed).toBe(allowed),
)

test('issuing needs the policy and the request', () =>
  expect(decide('ISSUE', request, grants([], [['POLICY', 'p1', ['CERTS_CREATE', 'CERTREQS_READ']]])).allowed).toBe(
    true,
  ))

test('the creator of a request may decline it, but not approve it', () => {
  const mine = { ...request, creatorId: 'me' }
  expect(decide('DECLINE', mine, grants([])).allowed).toBe(true)
  expect(decide('APPROVE', mine, grants([])).allowed).toBe(false)
})

test('a private key takes reading the certificate and being its creator, or the permission', () => {
  const reader: Held = [['REALM', 'r1', ['CERTS_READ']]]
  expect(decide('DOWNLOAD_KEY', certificate, grants([], reader)).allowed).toBe(false)
  expect(decide('DOWNLOAD_KEY', { ...certificate, creatorId: 'me' }, grants([])).allowed).toBe(false)
  expect(decide('DOWNLOAD_KEY', { ...certificate, creatorId: 'me' }, grants([], reader)).allowed).toBe(true)
  const permitted: Held = [['CERTIFICATE', 'c1', ['DOWNLOAD_PRIVATE_KEY']]]
  expect(decide('DOWNLOAD_KEY', certificate, grants([], permitted)).allowed).toBe(true)
})

const everythingOnIt: Held = [
  ['CERTIFICATE', 'c1', Object.keys(scopes.CERTIFICATE)],
  ['POLICY', 'p1', Object.keys(scopes.POLICY)],
]

test.each<Right>(['REVOKE', 'DOWNLOAD_KEY'])('%s of the certificate of an administrator takes ADMIN', right => {
  const may = (place: Place) => decide(right, place, grants([], everythingOnIt)).allowed
  expect([certificate, { ...certificate, PRINCIPAL: 'other' }, { ...certificate, PRINCIPAL: 'boss' }].map(may)).toEqual(
    [true, true, false],
  )
  expect(decide(right, { ...certificate, PRINCIPAL: 'boss' }, grants(['ADMIN'])).allowed).toBe(true)
  expect(decide(right, { ...certificate, PRINCIPAL: 'me' }, grants(['USERS_UPDATE'])).allowed).toBe(false)
})

test('reading the certificate of a user takes what reading any takes', () => {
  const place = { ...certificate, PRINCIPAL: 'other' }
  expect(decide('READ_CERTIFICATE', place, grants([], [['POLICY', 'p1', ['SIGN']]])).allowed).toBe(true)
  expect(decide('READ_CERTIFICATE', place, grants(['USERS_UPDATE'])).allowed).toBe(false)
})

test('a verdict names what decided it, and what would have served', () => {
  const verdict = decide('READ_POLICY', policy, grants([], [['POLICY', 'p1', ['SIGN']]]))
  const way = { on: 'POLICY', any: Object.keys(scopes.POLICY) }
  expect(verdict).toEqual({ allowed: true, by: [{ way, permission: 'SIGN' }], wouldServe: [] })
  const refused = decide('READ_POLICY', policy, grants([]))
  expect(refused.wouldServe).toEqual([
    [
      { on: 'GLOBAL', any: ['ADMIN', 'REALMS_FULL_READ'] },
      { on: 'REALM', any: ['FULL_READ', 'POLICIES_READ'] },
      { on: 'POLICY', any: Object.keys(scopes.POLICY) },
    ],
  ])
})

test('where two permissions are needed, the verdict names the one that is missing', () => {
  const { allowed, by, wouldServe } = decide('ISSUE', request, grants([], [['POLICY', 'p1', ['CERTS_CREATE']]]))
  const way = { on: 'POLICY', any: ['CERTS_CREATE'] }
  expect([allowed, by]).toEqual([false, [{ way, permission: 'CERTS_CREATE' }]])
  expect(wouldServe).toHaveLength(1)
  expect(wouldServe[0]).not.toContainEqual({ on: 'POLICY', any: ['CERTS_CREATE'] })
  expect(decide('ISSUE', request, grants([])).wouldServe).toHaveLength(2)
})

test('ADMIN is all that serves where nothing else does', () =>
  expect(decide('ADMIN', {}, grants(['REALMS_FULL_READ'])).wouldServe).toEqual([[{ on: 'GLOBAL', any: ['ADMIN'] }]]))

test.each<[Right, Held, boolean]>([
  ['ENTER_REALM', [['REALM', 'r1', ['CERTS_READ']]], true],
  ['ENTER_REALM', [['CERTIFICATE', 'c1', ['READ']]], true],
  ['ENTER_REALM', [['CERTIFICATE', 'c2', ['READ']]], false],
  ['ENTER_REALM', [['REALM', 'r2', ['FULL_READ']]], false],
  ['SHAPE_POLICIES', [['REALM', 'r2', ['POLICIES_CREATE']]], true],
  ['SHAPE_POLICIES', [['POLICY', 'p2', ['UPDATE']]], true],
  ['SHAPE_POLICIES', [['REALM', 'r1', ['UPDATE', 'POLICIES_READ']]], false],
])('%s with %j: %s', (right, held, allowed) => expect(decide(right, realm, grants([], held)).allowed).toBe(allowed))

test.each<[Right, GlobalPermission]>([
  ['READ_USER', 'USERS_READ'],
  ['READ_API_CLIENT', 'APICLIENTS_READ'],
])('%s takes %s or being the one', (right, permission) => {
  const other = { PRINCIPAL: 'other' }
  expect(decide(right, other, grants(['USERS_UPDATE', 'APICLIENTS_UPDATE', 'REALMS_FULL_READ'])).allowed).toBe(false)
  expect(decide(right, other, grants([permission])).allowed).toBe(true)
  expect(decide(right, { PRINCIPAL: 'me' }, grants([])).by).toEqual([{ way: { on: 'SELF' } }])
  expect(isGlobal(right)).toBe(true)
})

test.each<[Right, GlobalPermission[], string | undefined]>([
  ['UPDATE_USER', ['USERS_UPDATE'], undefined],
  ['RENEW_RA_CERTIFICATE', ['USERS_UPDATE'], undefined],
  ['REVOKE_RA_CERTIFICATE', ['USERS_UPDATE'], undefined],
  ['DOWNLOAD_RA_KEY', [], 'me'],
  ['UPDATE_API_CLIENT', ['APICLIENTS_UPDATE'], undefined],
  ['RESET_API_CLIENT', ['APICLIENTS_UPDATE'], undefined],
  ['DELETE_API_CLIENT', ['APICLIENTS_DELETE'], undefined],
])('%s on a principal with ADMIN takes ADMIN', (right, global, creatorId) => {
  const judged = (PRINCIPAL: string | undefined, held = global) => decide(right, { PRINCIPAL, creatorId }, grants(held))
  expect(judged('other').allowed).toBe(true)
  expect(judged(undefined).allowed).toBe(false)
  expect(judged('boss').wouldServe).toEqual([[{ on: 'GLOBAL', any: ['ADMIN'] }, { on: 'ORDINARY' }]])
  const everything = Object.keys(GlobalPermissions).filter(one => one !== 'ADMIN') as GlobalPermission[]
  expect(judged('boss', everything).allowed).toBe(false)
  expect(judged('boss', ['ADMIN']).allowed).toBe(true)
})

test('an order is for its creator, a single one also for who may read its request', () => {
  expect(decide('READ_ORDER', { creatorId: 'me' }, grants([])).allowed).toBe(true)
  const reader = grants([], [['CERT_REQUEST', 'q1', ['READ']]])
  expect(decide('READ_ORDER', { ...request, creatorId: 'maker' }, reader).allowed).toBe(true)
  expect(decide('READ_ORDER', { creatorId: 'maker' }, reader).allowed).toBe(false)
})

test('only rights that no place decides are asked without one', () => {
  const placeless = allRights.filter(isPlaceless)
  expect(placeless).toEqual([
    'ADMIN',
    'CREATE_REALM',
    'SHAPE_POLICIES',
    'LIST_USERS',
    'CREATE_USER',
    'RENEW_RA_CERTIFICATES',
    'LIST_API_CLIENTS',
    'CREATE_API_CLIENT',
  ])
  for (const right of placeless) expect(decide(right, {}, grants(['ADMIN'])).allowed).toBe(true)
})

test('lists reach everything only for ADMIN and REALMS_FULL_READ', () => {
  expect(reachOf('READ_REALM', new Set(['ADMIN'])).all).toBe(true)
  expect(reachOf('READ_POLICY', new Set(['REALMS_FULL_READ'])).all).toBe(true)
  expect(reachOf('READ_CERTIFICATE', new Set(['USERS_READ', 'REALMS_CREATE'])).all).toBe(false)
})

const anyGlobal = fc.constantFrom<GlobalPermission>('REALMS_CREATE', 'USERS_READ', 'USERS_UPDATE', 'APICLIENTS_CREATE')
const anyHeld = fc.array(
  fc
    .constantFrom(...ownScope)
    .chain(([scope, permission]) =>
      fc.constantFrom('r2', 'p2', 'e2', 'q2', 'c2').map((id): Held[number] => [scope, id, [permission]]),
    ),
)

test('no set of grants elsewhere ever opens a realm or what is in it', () => {
  fc.assert(
    fc.property(fc.array(anyGlobal), anyHeld, fc.constantFrom(...reading), (global, held, [right, place]) => {
      expect(decide(right, place, grants(global, held)).allowed).toBe(false)
    }),
  )
})

test.each<[Scope, string[], string[]]>([
  ['REALM', [], []],
  ['REALM', ['UPDATE'], ['UPDATE', 'READ']],
  ['REALM', ['FULL_READ'], ['FULL_READ', 'READ', 'POLICIES_READ', 'ENDENTITIES_READ', 'CERTREQS_READ', 'CERTS_READ']],
  ['POLICY', ['CERTREQS_APPROVE'], ['CERTREQS_APPROVE', 'READ', 'CERTREQS_READ']],
  ['POLICY', ['UPDATE'], ['UPDATE', 'READ']],
  ['CERTIFICATE', ['REVOKE'], ['REVOKE', 'READ']],
])('on a %s, %j comes to %j', (scope, held, whole) => expect(wholeOf(scope, held)).toEqual(new Set(whole)))

test('nobody hands out what he does not hold, whatever is given and taken', () => {
  const some = fc.subarray(Object.keys(scopes.POLICY))
  fc.assert(
    fc.property(some, some, some, (giver, before, after) => {
      const foreign = notOwn('POLICY', { giver, before, after })
      const own = wholeOf('POLICY', giver)
      for (const permission of after)
        expect(foreign.includes(permission)).toBe(!own.has(permission) && !before.includes(permission))
      expect(foreign.every(permission => after.includes(permission))).toBe(true)
    }),
  )
})

test.each<[GlobalPermission[], Held, boolean]>([
  [['ADMIN'], [], true],
  [[], [['REALM', 'r1', ['UPDATE', 'POLICIES_READ']]], true],
  [[], [['REALM', 'r1', ['UPDATE', 'FULL_READ']]], true],
  [['REALMS_FULL_READ'], [['REALM', 'r1', ['UPDATE']]], true],
  [
    [],
    [
      ['REALM', 'r1', ['UPDATE']],
      ['POLICY', 'p1', ['SIGN']],
    ],
    true,
  ],
  [[], [['REALM', 'r1', ['UPDATE']]], false],
  [
    [],
    [
      ['REALM', 'r1', ['FULL_READ']],
      ['POLICY', 'p1', ['SIGN']],
    ],
    false,
  ],
  [[], [['REALM', 'r2', ['UPDATE', 'FULL_READ']]], false],
])('%j with %j could let somebody read a policy: %s', (global, held, could) => {
  const { wouldServe } = decide('READ_POLICY', policy, grants([]))
  expect(couldServe(wouldServe, policy, grants(global, held))).toBe(could)
})
