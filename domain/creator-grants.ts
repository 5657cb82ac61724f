// What the creator of a resource may do with it from the beginning, and an API client with what it is for (contract 7.2).
import { PolicyPermission } from './permission-enums.ts'
import type { scopes, Scope } from './permissions.ts'

const permissionsOf = <P extends string>(permissions: Readonly<Record<P, string>>): readonly P[] =>
  Object.keys(permissions) as P[]

/** The permissions that the creator of a resource is granted on it; of a certificate that is the creator of its request. */
export const creatorGrants = {
  REALM: ['FULL_READ', 'UPDATE', 'DELETE', 'ENDENTITIES_CREATE', 'POLICIES_CREATE'],
  POLICY: permissionsOf(PolicyPermission),
  END_ENTITY: ['READ', 'UPDATE', 'DELETE'],
  CERT_REQUEST: ['READ', 'UPDATE', 'DELETE'],
  CERTIFICATE: ['READ', 'REVOKE'],
} as const satisfies { readonly [S in Scope]: readonly (keyof (typeof scopes)[S])[] }

/** The permissions that an API client is granted on each of its realms and on its default policy. */
export const clientGrants = {
  REALM: ['FULL_READ', 'ENDENTITIES_CREATE'],
  POLICY: ['READ', 'CERTS_CREATE', 'SIGN'],
} as const satisfies { readonly [S in 'REALM' | 'POLICY']: readonly (keyof (typeof scopes)[S])[] }
