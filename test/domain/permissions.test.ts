import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { notOwn, wholeOf } from '../../domain/grant-rules.ts'
import type { GlobalPermission } from '../../domain/permission-enums.ts'
import {
  decide,
  reachOf,
  rights,
  scopes,
  type Grants,
  type Place,
  type Right,
  type Scope,
} from '../../domain/permissions.ts'

type Held = readonly (readonly [Scope, string, readonly string[]])[]

const grants = (global: readonly GlobalPermission[], held: Held = []): Grants => ({
  principalId: 'me',
  global: new Set(global),
  on: (scope, id) => new Set(held.filter(([on, at]) => on === scope && at === id).flatMap(([, , given]) => given)),
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

test('a verdict names what decided it, and what would have served', () => {
  const verdict = decide('READ_POLICY', policy, grants([], [['POLICY', 'p1', ['SIGN']]]))
  expect(verdict.by.map(({ on }) => on)).toEqual(['POLICY'])
  const refused = decide('READ_POLICY', policy, grants([]))
  expect(refused.wouldServe.map(({ on }) => on)).toEqual(['GLOBAL', 'REALM', 'POLICY'])
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
