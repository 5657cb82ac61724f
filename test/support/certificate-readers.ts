// Who may read a certificate (contract 7.1): what a caller holds, and what reading then answers.
import type { GrantsByScope } from './api.ts'
import type { Scene } from './service.ts'

/** What a caller holds, the grants of it for a certificate of a scene, and the status. */
export type CertificateReader = readonly [
  holds: string,
  grants: (certificateId: string, scene: Scene) => GrantsByScope,
  status: 200 | 403,
]

/** Each way to be let in, and callers who have none. */
export const certificateReaders: readonly CertificateReader[] = [
  ['READ on it', id => ({ CERTIFICATE: { [id]: ['READ'] } }), 200],
  ['another permission on it', id => ({ CERTIFICATE: { [id]: ['REVOKE'] } }), 200],
  ['any permission on its policy', (_, { policyId }) => ({ POLICY: { [policyId]: ['SIGN'] } }), 200],
  ['CERTS_READ of the realm', (_, { realmId }) => ({ REALM: { [realmId]: ['CERTS_READ'] } }), 200],
  ['REALMS_FULL_READ', () => ({ GLOBAL: ['REALMS_FULL_READ'] }), 200],
  [
    'other rights of the realm',
    (_, { realmId }) => ({ REALM: { [realmId]: ['READ', 'CERTREQS_READ', 'UPDATE'] } }),
    403,
  ],
  ['nothing', () => ({}), 403],
]
