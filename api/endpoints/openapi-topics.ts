// What the operations are about: the tags of the OpenAPI document.
import type { Operation } from '../kernel/operation.ts'

/** The tag of an operation: the noun of its path. */
export const tagOf = ({ path }: Operation): string => {
  const [, , , first = '', second] = path.split('/')
  return first === 'public' && second === 'enum' ? 'enumerations' : first
}

/** What the operations are about, in the order in which a reader needs it. */
const topics: Readonly<Record<string, string>> = {
  realms: 'Responsibility areas that everything else belongs to',
  'certificate-providers': 'Backends that issue certificates',
  'certificate-providers-templates': 'What a backend can issue',
  policies: 'Rules on how certificates are created',
  'end-entities': 'Owners of certificates',
  'end-entity-passwords': 'Passwords with which owners enrol by CMP and SCEP',
  'cert-requests': 'Certificate requests: made, approved, declined, imported',
  certificates: 'Certificates: issued, found, downloaded, revoked',
  orders: 'Certificates that are issued in the background',
  'ra-certificates': 'Certificates of users',
  cas: 'Certificate authorities that the service knows',
  pkcs10: 'PKCS#10 requests: made and read',
  cmp: 'What a CMP server needs',
  scep: 'What a SCEP server needs',
  sign: 'Signatures with the keys of a policy',
  users: 'People',
  'api-clients': 'Machines',
  'authenticated-principal': 'The caller',
  permissions: 'Who may do what',
  'mailing-lists': 'Who is told by mail',
  configuration: 'Settings that are changed while the service runs',
  admin: 'Archive, imports of principals and other chores of administrators',
  public: 'What needs no token',
  enumerations: 'Values and what they mean; no token needed',
}

/** The tags of these operations with what they mean, in the order of the topics. */
export const tagsOf = (operations: readonly Operation[]): { name: string; description: string }[] => {
  const used = new Set(operations.map(tagOf))
  return Object.entries(topics)
    .filter(([name]) => used.has(name))
    .map(([name, description]) => ({ name, description }))
}
