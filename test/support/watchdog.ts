// The largest input that each operation accepts, and hostile ones of its members: what may be sent without stopping the
// service for others (contract 1.2). Every operation has a row; one without any size of its own is `small`.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { isLong } from '../../api/kernel/body-limit.ts'
import {
  exampleCaPem,
  exampleCertificatePem,
  exampleIds,
  examplePkcs10,
  exampleOf,
  exampleSignedPart,
} from '../../api/kernel/examples.ts'
import type { Operation } from '../../api/kernel/operation.ts'
import { wireOf } from '../../api/kernel/schema.ts'
import { context, octetString, sequence } from '../../pki/asn1/der.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import { pbm, protectedPart, statedIn } from './cmp-messages.ts'

/** What differs from the example of an operation: members of its body (or the body, where that is a list), parameters. */
export interface Largest {
  readonly body?: Readonly<Record<string, unknown>> | readonly unknown[]
  readonly query?: Readonly<Record<string, string>>
}

const times = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index))
const ids = (length: number): string[] => times(length, () => randomUUID())
const text = 'x'.repeat(255)
/** An id in so many mixtures of capitals and small letters. */
const waysOf = (id: string, length: number): string[] => {
  const letters = Array.from(id)
  const places = letters.flatMap((letter, place) => (/[a-f]/i.test(letter) ? [place] : []))
  return times(length, way =>
    letters.map((letter, place) => ((way >> places.indexOf(place)) & 1 ? letter.toUpperCase() : letter)).join(''),
  )
}

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
const cas: Largest = { body: { pemCertificates: exampleCaPem.repeat(1000) } }
const manyCertificates = exampleCertificatePem + exampleCaPem.repeat(220)
const certificates: Largest = { body: { pemCertificates: exampleCertificatePem.repeat(10_000) } }
const table = ['commonName;email', ...times(10_000, index => `watched-${index};a${index}@example.org`)].join('\n')
/** 64 KiB, as Base64. */
const octets = Buffer.alloc(65_536, 0x30).toString('base64')
/** The header of a part, with a body of nearly a megabyte. */
const longPart = (part: string): string => {
  const [header] = readDer(Buffer.from(part, 'base64')).children
  const body = context(0, sequence(octetString(Buffer.alloc(1_048_000, 0x30))))
  return sequence(header?.raw ?? Buffer.alloc(0), body).toString('base64')
}
const rounds = protectedPart({ protectionAlg: pbm({ iterationCount: 1_000_000 }) }).toString('base64')
const cmpMac: Largest = { body: { ...statedIn(Buffer.from(longPart(rounds), 'base64')) } }
const term: Largest = { body: { simpleSearchTerm: text } }
const page: Largest = { query: { size: '1000', sort: 'id,desc' } }

/** Operations whose input has no size of its own beyond ids and short texts. */
const small =
  `revokeSerialNumber getRollover cancelRollover downloadCaCertificate getCa updateCa getOcspStatus getRaOcspStatus downloadRaCertCrl downloadUserRaCertificate downloadUserRaCertificateChain getUserRaCertificate
  retrieveRaCertificateP12 revokeRaCertificate editPasswordLoginRoleToUser getUser importProviderClients
  importProviderUsers approveCertRequest checkCertificateProviderConnection createCertificate createNewRealm declineCertRequest
  deleteArchived
  authorizeWithEEidAndPassword checkEmailConnection createScepChallenge deleteConfiguration deleteEndEntityPassword getApiClientDetails resetApiClientSecret downloadCaChainForPolicy downloadCertificate downloadCertificateChain
  downloadCertificatePrivateKey downloadCrl emailCertificate explainPermission getCertificateStatisticsForRealm
  getConfiguration getLatestAuditEvents getMailingList resendEmailVerificationForCertRequest revokeCertificate
  verifyCertificateRequestByEmail
  getAllTemplateSignersByCertificateProviderId getApiClientPermissions getApiErrorValues getAuditEventsForCertificate
  getAuthenticatedPrincipal getCertRequest getCertRequestPermissionsValues getCertStatusValues
  getCertificateByFingerprint getCertificateDetails getCertificatePermissionsValues getCertificateProvider
  getCertificateProviderTypeResponseDtoList getCertificateSearchKeyValues getCmpSignatureAlgorithmValues
  getCryptoAlgorithmValues getEcNamedCurvesValues getEdDSANamedCurvesValues getEndEntity
  getEndEntityByRealmIdAndExternalId getEndEntityPermissionsValues getEndEntityPropertiesValues getEntitiesEnumValues
  getEntityStrategyEnumValues getGlobalPermissionsValues getKeyPairModeValues getMscaTemplatesByCertificateProviderId
  getEndEntityPasswordByEndEntityIdAndPolicyId getOrder getPolicy getPolicyPermissionsValues getRealm getRealmPermissionsValues getRevocationReasonValues
  getCmpConfigurationByPolicyId getRsaKeySizeValues getScepConfiguration getTemplateSignersByCertificateProviderId getUserPermissions getValidForValues orderCertificate
  resetEndEntityPassword retrieveCertificateP12 setEndEntityAlias updateGlobalPermissions updateRealm`.split(/\s+/)

/** The largest input by operation. */
export const largest: Readonly<Record<string, Largest>> = {
  ...Object.fromEntries(small.map(name => [name, {}])),
  archiveSingleEntity: {},
  createBatchRaCertificateForUsers: { body: { userIds: [exampleIds.User, ...ids(999)] } },
  createRaCertificateForSingleUser: { body: { pkcs10ReqBase64: octets } },
  // The last one is refused, so that the others still have resources to work on.
  archiveEntitiesBatch: {
    query: { entity: 'CERTIFICATE' },
    body: { archiveEntityRequestDtoList: [exampleIds.Certificate, ...ids(9999)] },
  },
  deleteArchivedEntities: {
    query: { entity: 'CERTIFICATE' },
    body: { deleteEntityRequestDtoList: [exampleIds.Certificate, ...ids(9999)] },
  },
  availablePoliciesWithoutPasswordByEndEntityId: page,
  createNewApiClient: { body: { realmIds: ids(10_000) } },
  updateApiClient: { body: { realmIds: ids(10_000) } },
  searchApiClients: term,
  // The address is taken, so that the others still have a right to it.
  registerUser: { body: { firstName: 'x'.repeat(31), email: 'jane@example.org' } },
  searchUsers: { body: { userIds: ids(10_000), simpleSearchTerm: text } },
  setUserCertificateDetails: { body: { ...names, country: 'DE' } },
  sendUpdatePasswordEmailBatch: { body: { userIds: [...ids(999), exampleIds.User] } },
  findUserByRaCertificate: { body: { pemCertificate: exampleCertificatePem.repeat(200) } },
  // Another version, so that the others still have a client to work on.
  deleteApiClient: { query: { version: '9' } },
  checkEndEntityWithRules: { body: { endEntity: names } },
  createCertRequest: { body: { pkcs10ReqBase64: octets } },
  createCertificateProvider: { body: { configuration: JSON.stringify({ templates }) } },
  calculateMac: cmpMac,
  verifyMac: cmpMac,
  signData: { body: { dataBase64: longPart(exampleSignedPart) } },
  createConfiguration: { body: { settingsKey: 'custom.long', value: 'x'.repeat(4000) } },
  createMultipleCertRequest: { body: { endEntityIds: [exampleIds.EndEntity, ...ids(9999)] } },
  createMultipleCertificates: { body: [...ids(999), exampleIds.CertRequest] },
  createNewEndEntity: { body: names },
  createNewEndEntityPassword: { body: { endEntityIds: [exampleIds.EndEntity, ...ids(9999)] } },
  createNewMailingList: { body: { emails: times(1000, index => `somebody-${index}@example.org`) } },
  createNewPolicy: { body: { endEntityRules: rules, certificateProviderConfiguration: `${' '.repeat(90_000)}{}` } },
  createPkcs10Request: { body: { subject: { ...names, country: 'DE' } } },
  decryptData: { body: { dataBase64: Buffer.alloc(131_072, 0x30).toString('base64') } },
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
  getEndEntityPasswordsByEndEntityId: page,
  getMostRecentPendingCertificates: { query: { size: '1000' } },
  getOrderItems: { query: { size: '1000' } },
  getPoliciesByCertificateProviderId: page,
  getPoliciesInRealms: { body: { realmIds: ids(10_000), simpleSearchTerm: text } },
  getPolicyByRealmId: page,
  getRealms: page,
  getSoonExpiringCertificates: { query: { size: '1000' } },
  getTrustedCas: { body: { caIds: ids(10_000) } },
  importCaCertificates: cas,
  importCertificates: certificates,
  markCertificatesAsRevoked: { body: { certificateIds: [...ids(9999), exampleIds.Certificate] } },
  orderMultipleCertificates: { body: [...ids(9999), exampleIds.CertRequest] },
  parsePkcs10: { body: { pkcs10ReqBase64: octets } },
  revokeMultipleCertificates: { body: { certificateIds: [...ids(9999), exampleIds.Certificate] } },
  // As many certificates as the text holds, each of which might stand above the first.
  validateCertificate: { body: { pemCertificate: manyCertificates } },
  validateCertificatePlain: { body: { pemCertificate: manyCertificates } },
  searchCas: { body: { caIds: ids(10_000), simpleSearchTerm: text, issuerSearch: true } },
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
  searchConfiguration: { body: { settingsKeys: times(10_000, index => `custom.${index}`), simpleSearchTerm: text } },
  searchEndEntities: { body: { endEntityIds: ids(10_000), simpleSearchTerm: text } },
  searchMailingLists: term,
  searchPolicies: { body: { policyIds: ids(10_000), simpleSearchTerm: text } },
  signDataScep: { body: { dataBase64: Buffer.alloc(12_288, 0x31).toString('base64') } },
  signDataWithCA: { body: { dataBase64: Buffer.alloc(1_048_576, 0x30).toString('base64') } },
  updateCertRequestPermissions: sets('certRequestPermissions', 'READ', 'UPDATE', 'APPROVE', 'DELETE'),
  updateCertificatePermissions: sets('certificatePermissions', 'READ', 'REVOKE', 'DOWNLOAD_PRIVATE_KEY', 'DELETE'),
  rollOverCertificateProvider: {
    body: { configuration: JSON.stringify({ issuingSubjectDn: `CN=${'x'.repeat(990)}` }) },
  },
  updateCertificateProvider: { body: { configuration: JSON.stringify({ templates }) } },
  updateEndEntityPermissions: sets('endEntityPermissions', 'READ', 'UPDATE', 'DELETE'),
  updateConfigurationBatch: {
    body: { configurations: times(1000, index => ({ settingsKey: `custom.${index}`, value: text })) },
  },
  updateConfiguration: { body: { settingsKey: 'mail.from', value: text } },
  updateMailingList: { body: { emails: times(1000, index => `somebody-${index}@example.org`) } },
  updatePolicy: { body: { endEntityRules: rules } },
  updatePolicyPermissions: sets('policyPermissions', 'READ', 'UPDATE', 'DELETE', 'SIGN'),
  updateRealmPermissions: sets('realmPermissions', 'READ', 'UPDATE', 'DELETE', 'FULL_READ'),
  uploadEndEntitiesCsv: { body: { csv: table }, query: { dryRun: 'true' } },
  verifyCaCertificates: cas,
  verifyImportCertificates: certificates,
}

/** A call as it goes over the wire. */
export interface Wire {
  readonly method: string
  readonly path: string
  readonly body?: string
}

/** A call that is made when it is sent: thousands of them are megabytes long. */
export interface Call {
  readonly what: string
  readonly make: () => Wire
}

interface Sent extends Largest {
  /** The whole body as it is sent. */
  readonly raw?: string
  /** Every parameter of the path. */
  readonly part?: string
}

const wire = (operation: Operation, more: Sent): Wire => {
  const { params, query, body } = exampleOf(operation)
  const path = operation.path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(more.part ?? params[name] ?? ''),
  )
  const search = new URLSearchParams({ ...query, ...more.query }).toString()
  const members = Array.isArray(body) ? {} : (body as object | undefined)
  const whole = Array.isArray(more.body) ? more.body : Object.assign({}, members, more.body)
  const sent = more.raw ?? JSON.stringify(Array.isArray(body) && !more.body ? body : whole)
  return { method: operation.method, path: `${path}?${search}`, ...(operation.body && { body: sent }) }
}

const call = (operation: Operation, what: string, more: () => Sent): Call => ({
  what,
  make: () => wire(operation, more()),
})

/** The call with the largest input. */
export const largestCall = (operation: Operation, row: Largest): Call => call(operation, 'its largest input', () => row)

const filled = (unit: string, octets: number): string => unit.repeat(Math.floor(octets / unit.length))
const quoted = (unit: string, octets: number): string => `"${filled(unit, octets)}"`
const armour = '-----BEGIN CERTIFICATE REQUEST-----\\n'
const armourEnd = armour.replace('BEGIN', 'END')

/** A hostile value as JSON, of about so many octets where it is to be as long as the body may be. */
type Hostile = Readonly<Record<string, (octets: number) => string>>

const shortTexts: Hostile = {
  '60,000 CR': () => quoted('\\r', 120_000),
  '1 MB': () => quoted('A', 1_000_000),
}
const hostile: Readonly<Record<'short' | 'long' | 'list' | 'object', Hostile>> = {
  short: shortTexts,
  long: {
    ...shortTexts,
    'a PEM of CR': () => `"${armour}${'\\r'.repeat(60_000)}\\n${armourEnd}"`,
    'a PEM of header lines': () => `"${armour}${'\\n:'.repeat(30_000)}${armourEnd}"`,
    'a full body of A': octets => quoted('A', octets),
    'a full body of A and spaces': octets => quoted('A ', octets),
    'a full body of armour': octets => quoted(armour, octets),
    'a full body of spaces': octets => quoted(' ', octets),
    'a full body of escapes': octets => quoted('\\u000a', octets),
  },
  list: {
    'a full body of ones': octets => `[${filled('1,', octets - 1)}1]`,
    'as many ones as are read': () => `[${'1,'.repeat(149_000)}1]`,
    '10,000 odd items': () => `[${times(10_000, index => `{"a":[${index}]}`).join(',')}]`,
    'lists within lists': octets => '['.repeat(octets / 2) + ']'.repeat(octets / 2),
  },
  object: { 'a million members': () => `{${times(700_000, index => `"k${index}":1`).join(',')}}` },
}

/** Bodies that are hard to read, whatever their operation takes of them. */
const bodies: Hostile = {
  'a full body of ones': octets => `[${filled('1,', octets - 1)}1]`,
  'a full body of line ends': octets => `${filled('\n', octets)}x`,
  'a full body of long numbers': octets => `[${filled(`${'7'.repeat(399)},`, octets)}7]`,
  'a full body of escapes as a name': octets => `{${quoted('\\u000a', octets)}:1}`,
}

const kindOf = (member: z.ZodType): keyof typeof hostile | undefined => {
  const { schema } = wireOf(member)
  if (schema instanceof z.ZodObject) return 'object'
  if (schema instanceof z.ZodArray) return 'list'
  if (schema.type !== 'string') return undefined
  return isLong(schema) ? 'long' : 'short'
}

/** What stands around a member is shorter than this. */
const surroundings = 20_000

const callsOf = (operation: Operation, values: Hostile, name?: string): Call[] => {
  const { body } = exampleOf(operation)
  const around = (json: string): string => {
    if (name === undefined) return json
    const others = JSON.stringify({ ...(body as object | undefined), [name]: undefined }).slice(1, -1)
    return `{${others}${others && ','}${JSON.stringify(name)}:${json}}`
  }
  return Object.entries(values).map(([what, json]) =>
    call(operation, name === undefined ? what : `${what} as ${name}`, () => ({
      raw: around(json(operation.bodyLimit - surroundings)),
    })),
  )
}

const ofMembers = (operation: Operation, shape: Readonly<Record<string, z.ZodType>>): Call[] =>
  Object.entries(shape).flatMap(([name, member]) => {
    const kind = kindOf(member)
    return kind ? callsOf(operation, hostile[kind], name) : []
  })

/** Hostile calls of an operation: of its path and its query, its body and each member of that. */
export const hostileCalls = (operation: Operation): Call[] => {
  const query = { ids: 'a,'.repeat(10_000), sort: 'a,'.repeat(5000) }
  const long = call(operation, 'a long query', () => ({ query }))
  const path = operation.path.includes(':')
    ? [call(operation, 'a long path', () => ({ part: '%'.repeat(15_000) }))]
    : []
  const { body } = operation
  if (!body) return [long, ...path]
  const whole = callsOf(operation, bodies)
  const members = body instanceof z.ZodObject ? ofMembers(operation, body.shape) : callsOf(operation, hostile.list)
  return [long, ...path, ...whole, ...members]
}

/** Lists of certificates beside what else a revocation takes: members whose kind has no hostile values of its own. */
const revocations: Readonly<Record<string, () => Sent>> = {
  '10,001 ids': () => ({ body: { certificateIds: ids(10_001) } }),
  'an id 140,000 times': () => ({ body: { certificateIds: times(140_000, () => exampleIds.Certificate) } }),
  'an id in 10,000 ways': () => ({ body: { certificateIds: waysOf(exampleIds.Certificate, 10_000) } }),
  '10,000 texts that are no ids': () => ({ body: { certificateIds: ids(10_000).map(id => `${id}x`) } }),
  'a reason of 1 MB': () => ({ body: { revocationReason: filled('SUPERSEDED', 1_000_000) } }),
  'an unknown reason for 10,000 ids': () => ({ body: { certificateIds: ids(10_000), revocationReason: 'BECAUSE' } }),
  'as many reasons as are read': () => ({ body: { revocationReason: times(149_000, () => 'SUPERSEDED') } }),
  'a release of 10,000 ids': () => ({ body: { certificateIds: ids(10_000), revocationReason: 'REMOVE_FROM_CRL' } }),
}

/** Hostile inputs of single operations. */
const special: Readonly<Record<string, Readonly<Record<string, () => Sent>>>> = {
  revokeCertificate: {
    'an id of 30,000 letters': () => ({ query: { id: filled('a', 30_000) } }),
    'a reason of 30,000 letters': () => ({ query: { revocationReason: filled('SUPERSEDED', 30_000) } }),
  },
  revokeMultipleCertificates: revocations,
  markCertificatesAsRevoked: {
    ...revocations,
    'a date of 1 MB': () => ({ body: { revocationDate: filled('2026-01-01T', 1_000_000) } }),
    'a date of many digits': () => ({ body: { revocationDate: `2026-01-01T00:00:00.${filled('0', 100_000)}Z` } }),
    'a date to come for 10,000 ids': () => ({
      body: { certificateIds: ids(10_000), revocationDate: '2999-01-01T00:00:00Z' },
    }),
  },
  downloadCrl: { 'an id of 30,000 letters': () => ({ part: filled('a', 30_000) }) },
}

/** Every call of an operation: with its largest input, then hostile ones. */
export const callsTo = (name: string, operation: Operation): readonly [Call, ...Call[]] => [
  largestCall(operation, largest[name] ?? {}),
  ...hostileCalls(operation),
  ...Object.entries(special[name] ?? {}).map(([what, more]) => call(operation, what, more)),
]
