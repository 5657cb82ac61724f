// The grants of creators, row by row as contract 7.2 has them.
import { expect, test } from '@jest/globals'
import { creatorGrants } from '../../domain/creator-grants.ts'
import { scopes, type Scope } from '../../domain/permissions.ts'

const table: readonly [created: string, scope: Scope, permissions: string][] = [
  ['realm', 'REALM', 'FULL_READ UPDATE DELETE ENDENTITIES_CREATE POLICIES_CREATE'],
  ['policy', 'POLICY', 'READ UPDATE DELETE CERTS_CREATE CERTS_REVOKE CERTREQS_READ CERTREQS_APPROVE SIGN'],
  ['end entity', 'END_ENTITY', 'READ UPDATE DELETE'],
  ['certificate request', 'CERT_REQUEST', 'READ UPDATE DELETE'],
  ['certificate, issued or imported', 'CERTIFICATE', 'READ REVOKE'],
]

test.each(table)('the creator of a %s', (_, scope, permissions) => {
  expect(creatorGrants[scope].join(' ')).toBe(permissions)
})

test('every scope has a row, and no permission that its scope does not know', () => {
  expect(table.map(([, scope]) => scope)).toEqual(Object.keys(scopes))
  for (const scope of Object.keys(scopes) as Scope[])
    expect(Object.keys(scopes[scope])).toEqual(expect.arrayContaining([...creatorGrants[scope]]))
})
