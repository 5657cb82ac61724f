// The largest input that each operation accepts, and hostile ones of its members: what may be sent without stopping the
// service for others (contract 1.2). Every operation has a row; one without any size of its own is `small`.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { bodyLimits, isLong } from '../../api/kernel/body-limit.ts'
import { exampleCertificatePem, exampleIds, examplePkcs10, exampleOf } from '../../api/kernel/examples.ts'
import type { Operation } from '../../api/kernel/operation.ts'
import { wireOf } from '../../api/kernel/schema.ts'

/** What differs from the example of an operation: members of its body (or the body, where that is a list), parameters. */
export interface Largest {
  readonly body?: Readonly<Record<string, unknown>> | readonly unknown[]
  readonly query?: Readonly<Record<string, string>>
}

const times = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index))
const ids = (length: number): string[] => times(length, () => randomUUID())
const text = 'x'.repeat(255)

const names = {
  ...Object.fromEntries(['commonName', 'organization', 'organizationalUnit', 'externalId'].map(one => [one, text])),
  domains: times(1000, index => `host-${index}.example.org`),
  ips: times(1000, index => `10.0.${index >> 8}.${index & 255}`),
  genericDtoList: times(1000, index => ({ key: `key ${index}`, value: text })),
}
const rules = times(100, () => ({ property: 'COMMON_NAME', requirement: 'OPTIONAL', pattern: '(a?){50}'.repeat(30) }))
const templates = times(1000, index => ({ name: `T${index}`, extendedKeyUsages: ['serverAuth'] }))
const sets = (member: string, ...permissions: string[]): Largest => ({
  body: { [member]: ids(10_000).map(id => ({ id, permissions })) },
})
const certificates: Largest = { body: { pemCertificates: exampleCertificatePem.repeat(10_000) } }
const table = ['commonName;email', ...times(10_000, index => `watched-${index};a${index}@example.org`)].join('\n')
/** 64 KiB, as Base64. */
const octets = Buffer.alloc(65_536, 0x30).toString('base64')
const term: Largest = { body: { simpleSearchTerm: text } }
const page: Largest = { query: { size: '1000', sort: 'id,desc' } }

/** Operations whose input has no size of its own beyond ids and short texts. */
const small = `approveCertRequest checkCertificateProviderConnection createCertificate createNewRealm declineCertRequest
  downloadCaChainForPolicy downloadCertificate downloadCertificateChain downloadCertificatePrivateKey explainPermission
  getAllTemplateSignersByCertificateProviderId getApiClientPermissions getApiErrorValues getAuditEventsForCertificate
  getAuthenticatedPrincipal getCertRequest getCertRequestPermissionsValues getCertStatusValues
  getCertificateByFingerprint getCertificateDetails getCertificatePermissionsValues getCertificateProvider
  getCertificateProviderTypeResponseDtoList getCertificateSearchKeyValues getCmpSignatureAlgorithmValues
  getCryptoAlgorithmValues getEcNamedCurvesValues getEdDSANamedCurvesValues getEndEntity
  getEndEntityByRealmIdAndExternalId getEndEntityPermissionsValues getEndEntityPropertiesValues getEntitiesEnumValues
  getEntityStrategyEnumValues getGlobalPermissionsValues getKeyPairModeValues getMscaTemplatesByCertificateProviderId
  getOrder getPolicy getPolicyPermissionsValues getRealm getRealmPermissionsValues getRevocationReasonValues
  getRsaKeySizeValues getTemplateSignersByCertificateProviderId getUserPermissions getValidForValues orderCertificate
  retrieveCertificateP12 setEndEntityAlias updateGlobalPermissions updateRealm`.split(/\s+/)

/** The largest input by operation. */
export const largest: Readonly<Record<string, Largest>> = {
  ...Object.fromEntries(small.map(name => [name, {}])),
  availablePoliciesWithoutPasswordByEndEntityId: page,
  checkEndEntityWithRules: { body: { endEntity: names } },
  createCertRequest: { body: { pkcs10ReqBase64: octets } },
  createCertificateProvider: { body: { configuration: JSON.stringify({ templates }) } },
  createMultipleCertRequest: { body: { endEntityIds: [exampleIds.EndEntity, ...ids(9999)] } },
  createMultipleCertificates: { body: [...ids(999), exampleIds.CertRequest] },
  createNewEndEntity: { body: names },
  createNewPolicy: { body: { endEntityRules: rules, certificateProviderConfiguration: `${' '.repeat(90_000)}{}` } },
  createPkcs10Request: { body: { subject: { ...names, country: 'DE' } } },
  downloadCertificatesAsZip: { query: { ids: [exampleIds.Certificate, ...ids(999)].join(',') } },
  examinePkcs10Request: { body: { pkcs10ReqBase64: octets } },
  extractEndEntityInfoFromPemEncodedPkcs10: { body: { pkcs10Pem: `${'\r\n'.repeat(50_000)}${examplePkcs10}` } },
  findEeByCertBytes: { body: { certBytes: octets } },
  findEndEntityByPolicyIdAndEndEntityDataset: { body: names },
  findEndEntityByPolicyIdAndPkcs10: { body: { pkcs10ReqBase64: octets } },
  getAllowedCryptoParameters: { body: { certificateProviderConfiguration: `${' '.repeat(99_000)}{}` } },
  getAuthorizedUsers: page,
  getCertRequestByPkcs10AndEndEntity: { body: { pkcs10ReqBase64: octets } },
  getCertificateByIssuerDnBinAndSerialNumber: { body: { issuerDnBin: octets } },
  getCertificatesByRealmId: page,
  getMostRecentPendingCertificates: { query: { size: '1000' } },
  getOrderItems: { query: { size: '1000' } },
  getPoliciesByCertificateProviderId: page,
  getPoliciesInRealms: { body: { realmIds: ids(10_000), simpleSearchTerm: text } },
  getPolicyByRealmId: page,
  getRealms: page,
  getSoonExpiringCertificates: { query: { size: '1000' } },
  importCertificates: certificates,
  orderMultipleCertificates: { body: [...ids(9999), exampleIds.CertRequest] },
  parsePkcs10: { body: { pkcs10ReqBase64: octets } },
  searchCertRequests: { body: { certRequestIds: ids(10_000), simpleSearchTerm: text } },
  searchCertificateProviders: term,
  searchCertificateProvidersForPolicyCreateUpdate: term,
  searchCertificates: {
    body: {
      certificateIds: ids(10_000),
      simpleSearchTerm: text,
      searchFilters: times(100, () => ({ key: 'SUBJECT_DN', value: text })),
    },
  },
  searchEndEntities: { body: { endEntityIds: ids(10_000), simpleSearchTerm: text } },
  searchPolicies: { body: { policyIds: ids(10_000), simpleSearchTerm: text } },
  updateCertRequestPermissions: sets('certRequestPermissions', 'READ', 'UPDATE', 'APPROVE', 'DELETE'),
  updateCertificatePermissions: sets('certificatePermissions', 'READ', 'REVOKE', 'DOWNLOAD_PRIVATE_KEY', 'DELETE'),
  updateCertificateProvider: { body: { configuration: JSON.stringify({ templates }) } },
  updateEndEntityPermissions: sets('endEntityPermissions', 'READ', 'UPDATE', 'DELETE'),
  updatePolicy: { body: { endEntityRules: rules } },
  updatePolicyPermissions: sets('policyPermissions', 'READ', 'UPDATE', 'DELETE', 'SIGN'),
  updateRealmPermissions: sets('realmPermissions', 'READ', 'UPDATE', 'DELETE', 'FULL_READ'),
  uploadEndEntitiesCsv: { body: { csv: table }, query: { dryRun: 'true' } },
  verifyImportCertificates: certificates,
}

/** A call as it goes over the wire. */
export interface Wire {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly body?: string
}

const wire = (operation: Operation, what: string, more: Largest & { raw?: string; part?: string } = {}): Wire => {
  const { params, query, body } = exampleOf(operation)
  const path = operation.path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(more.part ?? params[name] ?? ''),
  )
  const search = new URLSearchParams({ ...query, ...more.query }).toString()
  const members = Array.isArray(body) ? {} : (body as object | undefined)
  const whole = Array.isArray(more.body) ? more.body : Object.assign({}, members, more.body)
  const sent = more.raw ?? JSON.stringify(Array.isArray(body) && !more.body ? body : whole)
  return { what, method: operation.method, path: `${path}?${search}`, ...(operation.body && { body: sent }) }
}

/** The call of the documentation. */
export const calmCall = (operation: Operation): Wire => wire(operation, 'its example')
/** The call with the largest input. */
export const largestCall = (operation: Operation, row: Largest): Wire => wire(operation, 'its largest input', row)

const nearLimit = bodyLimits.bytesOrList - 20_000
const filled = (unit: string, octetsOfAll: number): string => unit.repeat(Math.floor(octetsOfAll / unit.length))
const armour = '-----BEGIN CERTIFICATE REQUEST-----\n'
const armourEnd = armour.replace('BEGIN', 'END')

/** Values of members as JSON, by what the member is. */
const shortTexts = [
  ['60,000 CR', JSON.stringify('\r'.repeat(60_000))],
  ['1 MB', JSON.stringify('A'.repeat(1_000_000))],
] as const
const hostile: Readonly<Record<'short' | 'long' | 'list' | 'object', readonly (readonly [string, string])[]>> = {
  short: shortTexts,
  long: [
    ...shortTexts,
    ['a PEM of CR', JSON.stringify(`${armour}${'\r'.repeat(60_000)}\n${armourEnd}`)],
    ['a PEM of header lines', JSON.stringify(`${armour}${'\n:'.repeat(30_000)}${armourEnd}`)],
    ['10 MB', JSON.stringify('A'.repeat(nearLimit))],
    ['10 MB of armour', JSON.stringify(filled(armour, nearLimit - 300_000))],
    ['10 MB of spaces', JSON.stringify(' '.repeat(nearLimit))],
    ['10 MB of escapes', `"${'\\u000a'.repeat(nearLimit / 6)}"`],
  ],
  list: [
    ['9 MB of ones', `[${'1,'.repeat(4_500_000)}1]`],
    ['as many ones as are read', `[${'1,'.repeat(149_000)}1]`],
    ['10,000 odd items', `[${times(10_000, index => `{"a":[${index}]}`).join(',')}]`],
    ['lists within lists', '['.repeat(4_500_000) + ']'.repeat(4_500_000)],
  ],
  object: [['a million members', `{${times(700_000, index => `"k${index}":1`).join(',')}}`]],
}

const kindOf = (member: z.ZodType): keyof typeof hostile | undefined => {
  const { schema } = wireOf(member)
  if (schema instanceof z.ZodObject) return 'object'
  if (schema instanceof z.ZodArray) return 'list'
  if (schema.type !== 'string') return undefined
  return isLong(schema) ? 'long' : 'short'
}

const ofMembers = (operation: Operation, shape: Readonly<Record<string, z.ZodType>>): Wire[] => {
  const { body } = exampleOf(operation)
  return Object.entries(shape).flatMap(([name, member]) => {
    const others = JSON.stringify({ ...(body as object | undefined), [name]: undefined }).slice(1, -1)
    const around = (json: string) => `{${others}${others && ','}${JSON.stringify(name)}:${json}}`
    const kind = kindOf(member)
    const values = kind ? hostile[kind] : []
    return values.map(([what, json]) => wire(operation, `${what} as ${name}`, { raw: around(json) }))
  })
}

/** Hostile calls of an operation: of each member of its body, of its path and its query. */
export const hostileCalls = (operation: Operation): Wire[] => {
  const long = wire(operation, 'a long query', { query: { ids: 'a,'.repeat(10_000), sort: 'a,'.repeat(5000) } })
  const path = operation.path.includes(':') ? [wire(operation, 'a long path', { part: '%'.repeat(15_000) })] : []
  const { body } = operation
  if (!body) return [long, ...path]
  const whole = hostile.list.map(([what, json]) => wire(operation, what, { raw: json }))
  if (!(body instanceof z.ZodObject)) return [long, ...path, ...whole]
  return [long, ...path, ...whole.slice(0, 1), ...ofMembers(operation, body.shape)]
}
