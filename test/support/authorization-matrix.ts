// What each operation needs, written from contract 7.1 to 7.4 and not from its declaration, so that the two can disagree.
import { exampleIds } from '../../api/kernel/examples.ts'
import {
  CertificatePermission,
  CertRequestPermission,
  EndEntityPermission,
  PolicyPermission,
  RealmPermission,
} from '../../domain/permission-enums.ts'
import type { Scope } from '../../domain/permissions.ts'

/** Permissions of which one suffices, by the scope of the example resource that they are held on. */
export type Need = Partial<Readonly<Record<Scope | 'GLOBAL', readonly string[]>>> & {
  /** Having made this suffices as well. */
  readonly creatorOf?: 'CertRequest' | 'Certificate' | 'CertificateOrder'
  /** Being the principal that the path names suffices as well. */
  readonly self?: 'jane' | 'client'
  /** A permission on any realm or policy suffices, not only on those that are named. */
  readonly anywhere?: true
  /** Who lacks it is told so for each item of the batch; the call itself is answered. */
  readonly perItem?: true
}

/** One call of an operation and who may make it. */
export interface Row {
  readonly operation: string
  /** All are needed; undefined: the operation is public. */
  readonly needs: readonly Need[] | undefined
  /** What keeps an item in a filtered list, and the id of the item. */
  readonly shows?: { readonly need: Need; readonly id: string }
  /** What differs from the operation's example; `issued` uses what the example certificate is made of. */
  readonly body?: unknown
  readonly query?: Readonly<Record<string, string>>
  readonly issued?: 'FINGERPRINT' | 'ISSUER_AND_SERIAL' | 'BYTES'
  /** What must be the case before. */
  readonly state?: 'WAITS_FOR_APPROVAL' | 'EXPIRES_SOON' | 'HAS_PASSWORD' | 'HAS_RA_CERTIFICATE' | 'USES_CMP'
  readonly admins?: 'NOBODY' | 'USER' // holds ADMIN of the principals of the examples: the client unless stated
  /** The request is that of the example certificate. */
  readonly ofCertificate?: true
  /** What is answered to who holds nothing in the realm: as if there were none (contract 1.6). */
  readonly unknown?: string
  /** Others than this kind of principal are refused, whatever they hold. */
  readonly onlyFor?: 'API_CLIENT' | undefined
  /** The status for whom it is allowed; that of the operation unless stated. */
  readonly status?: number
}

const every = (permissions: object): string[] => Object.keys(permissions)

const anyRealm = every(RealmPermission)
const anyPolicy = every(PolicyPermission)
const anyEndEntity = every(EndEntityPermission)
const anyRequest = every(CertRequestPermission)
const anyCertificate = every(CertificatePermission)

const readRealm: Need = { REALM: anyRealm }
const readPolicy: Need = { REALM: ['FULL_READ', 'POLICIES_READ'], POLICY: anyPolicy }
const readEndEntity: Need = { REALM: ['FULL_READ', 'ENDENTITIES_READ'], END_ENTITY: anyEndEntity }
const readRequest: Need = {
  REALM: ['FULL_READ', 'CERTREQS_READ'],
  POLICY: ['CERTREQS_READ', 'CERTREQS_APPROVE'],
  CERT_REQUEST: anyRequest,
}
const readCertificate: Need = {
  REALM: ['FULL_READ', 'CERTS_READ'],
  POLICY: anyPolicy,
  CERTIFICATE: anyCertificate,
}
const ownKey: Need = { CERTIFICATE: ['DOWNLOAD_PRIVATE_KEY'], creatorOf: 'Certificate' }
/** A realm that only bounds a list: any grant on it or on something in it. */
const enterRealm: Need = {
  REALM: anyRealm,
  POLICY: anyPolicy,
  END_ENTITY: anyEndEntity,
  CERT_REQUEST: anyRequest,
  CERTIFICATE: anyCertificate,
}
const shapePolicies: Need = { REALM: ['POLICIES_CREATE'], POLICY: ['UPDATE'], anywhere: true }
const readOrder: Need = { ...readRequest, creatorOf: 'CertificateOrder' }

/** ADMIN satisfies every need, so that one without ways is for ADMIN alone. */
const admin: Need = {}
const global = (permission: string): Need => ({ GLOBAL: [permission] })
const realm = (permission: string): Need => ({ REALM: [permission] })
const policy = (permission: string): Need => ({ POLICY: [permission] })
const perItem = (need: Need): Need => ({ ...need, perItem: true })

type Rest = Partial<Omit<Row, 'operation' | 'needs'>>
const needing =
  (...needs: Need[]) =>
  (operation: string, rest: Rest = {}): Row => ({ operation, needs, ...rest })
const withToken = needing()
const publicly = (operation: string, more: Partial<Row> = {}): Row => ({ operation, needs: undefined, ...more })

const realms = { need: readRealm, id: exampleIds.Realm }
const policies = { need: readPolicy, id: exampleIds.Policy }
const endEntities = { need: readEndEntity, id: exampleIds.EndEntity }
const requests = { need: readRequest, id: exampleIds.CertRequest }
const certificates = { need: readCertificate, id: exampleIds.Certificate }

const receiver = { principalId: exampleIds.User, principalType: 'USER' }
const [pem, endEntityId, policyId] = ['pemCertificates', exampleIds.EndEntity, exampleIds.Policy]

const enumerations = `ApiErrorValues CertRequestPermissionsValues CertStatusValues CertificatePermissionsValues
  CertificateProviderTypeResponseDtoList CertificateSearchKeyValues CmpSignatureAlgorithmValues CryptoAlgorithmValues
  EcNamedCurvesValues EdDSANamedCurvesValues EndEntityPermissionsValues EndEntityPropertiesValues EntitiesEnumValues
  EntityStrategyEnumValues GlobalPermissionsValues KeyPairModeValues PolicyPermissionsValues RealmPermissionsValues
  RevocationReasonValues RsaKeySizeValues ValidForValues`.split(/\s+/)

const archiving = (need: Need, entity: keyof typeof archivable, rest: Rest = {}): Row =>
  needing(need)('archiveEntitiesBatch', {
    query: { entity, archive: 'true' },
    body: { archiveEntityRequestDtoList: [archivable[entity]] },
    ...rest,
  })
const archivable = {
  REALM: exampleIds.Realm,
  POLICY: exampleIds.Policy,
  END_ENTITY: exampleIds.EndEntity,
  CERT_REQUEST: exampleIds.CertRequest,
  CERTIFICATE: exampleIds.Certificate,
  CERTIFICATE_PROVIDER: exampleIds.CertificateProvider,
  CA: exampleIds.Ca,
}
/** The example certificate is active. */
const active = { status: 409 }

const administration: readonly Row[] = [
  ...enumerations.map(name => publicly(`get${name}`)),
  publicly('extractEndEntityInfoFromPemEncodedPkcs10'),
  publicly('verifyCertificateRequestByEmail', { status: 422 }),
  withToken('getAuthenticatedPrincipal'),
  withToken('createPkcs10Request'),
  withToken('parsePkcs10'),
  ...['getCa', 'downloadCaCertificate', 'searchCas', 'getTrustedCas'].map(name => withToken(name)),
  ...['validateCertificate', 'validateCertificatePlain'].map(name => withToken(name)),
  needing(admin)('importCaCertificates'),
  needing(admin)('verifyCaCertificates'),
  needing(admin)('updateCa'),
  needing(admin)('revokeSerialNumber'),
  needing(admin)('deleteArchived'),
  // Nothing of the example is archived.
  needing(admin)('deleteArchivedEntities', { status: 409 }),
  needing(admin)('archiveSingleEntity'),
  needing(admin)('archiveEntitiesBatch'),
  archiving({ REALM: ['UPDATE', 'DELETE'] }, 'REALM', active),
  archiving({ POLICY: ['UPDATE', 'DELETE'] }, 'POLICY', active),
  archiving({ END_ENTITY: ['UPDATE', 'DELETE'] }, 'END_ENTITY', active),
  archiving({ CERT_REQUEST: ['DELETE'], POLICY: ['DELETE'] }, 'CERT_REQUEST'),
  archiving({ CERTIFICATE: ['DELETE'], POLICY: ['DELETE'] }, 'CERTIFICATE', active),
  archiving(admin, 'CERTIFICATE_PROVIDER', { status: 409 }),
  archiving(admin, 'CA', { status: 409 }),
  ...['create', 'get', 'update'].map(verb => needing(admin)(`${verb}CertificateProvider`)),
  ...['create', 'get', 'update', 'delete', 'search'].map(verb => needing(admin)(`${verb}Configuration`)),
  needing(admin)('updateConfigurationBatch'),
  ...['createNew', 'get', 'update'].map(verb => needing(admin)(`${verb}MailingList`)),
  needing(admin)('searchMailingLists'),
  needing(admin)('searchCertificateProviders'),
  needing(admin)('checkCertificateProviderConnection'),
  needing(admin)('getRollover'),
  needing(admin)('rollOverCertificateProvider'),
  // No rollover of the example is planned.
  needing(admin)('cancelRollover', { status: 409 }),
  needing(admin)('checkEmailConnection', { status: 400 }),
  needing(shapePolicies)('searchCertificateProvidersForPolicyCreateUpdate'),
  needing(shapePolicies)('getTemplateSignersByCertificateProviderId'),
  needing(shapePolicies)('getAllTemplateSignersByCertificateProviderId'),
  needing(shapePolicies)('getMscaTemplatesByCertificateProviderId', { status: 422 }),
  needing(shapePolicies)('getAllowedCryptoParameters'),
]

const granting: readonly Row[] = [
  needing({ GLOBAL: ['USERS_READ'], self: 'jane' })('getUserPermissions'),
  needing({ GLOBAL: ['APICLIENTS_READ'], self: 'client' })('getApiClientPermissions'),
  needing(admin)('updateGlobalPermissions'),
  needing({ self: 'jane' })('explainPermission'),
  needing(realm('UPDATE'), realm('DELETE'))('updateRealmPermissions', {
    body: { ...receiver, realmPermissions: [{ id: exampleIds.Realm, permissions: ['DELETE'] }] },
  }),
  needing(realm('UPDATE'), policy('SIGN'), { POLICY: ['CERTREQS_READ', 'CERTREQS_APPROVE'] })(
    'updatePolicyPermissions',
    { body: { ...receiver, policyPermissions: [{ id: policyId, permissions: ['SIGN', 'CERTREQS_READ'] }] } },
  ),
  needing(realm('UPDATE'), { END_ENTITY: ['UPDATE'] })('updateEndEntityPermissions'),
  needing(realm('UPDATE'), { CERT_REQUEST: ['APPROVE'] })('updateCertRequestPermissions'),
  needing(realm('UPDATE'), { CERTIFICATE: ['DOWNLOAD_PRIVATE_KEY'] })('updateCertificatePermissions'),
]

const keepsClient = { query: { version: '9' }, status: 409 } as const
const machines: readonly Row[] = [
  needing(
    global('APICLIENTS_CREATE'),
    realm('FULL_READ'),
    realm('ENDENTITIES_CREATE'),
    policy('CERTS_CREATE'),
    policy('SIGN'),
  )('createNewApiClient'),
  needing({ GLOBAL: ['APICLIENTS_READ'], self: 'client' })('getApiClientDetails'),
  needing(global('APICLIENTS_READ'))('searchApiClients'),
  needing(global('APICLIENTS_UPDATE'))('updateApiClient', { admins: 'NOBODY' }),
  needing({ GLOBAL: ['APICLIENTS_UPDATE'], self: 'client' })('resetApiClientSecret', { admins: 'NOBODY' }),
  // Its version is another one, so that it stays and can call.
  needing(global('APICLIENTS_DELETE'))('deleteApiClient', { ...keepsClient, admins: 'NOBODY' }),
  ...['updateApiClient', 'resetApiClientSecret'].map(name => needing(admin)(name)),
  needing(admin)('deleteApiClient', keepsClient),
]

const createUnder = policy('CERTS_CREATE')
const hasOne = { state: 'HAS_RA_CERTIFICATE' } as const
const ofAdmin = { admins: 'USER' } as const
const readUser: Need = { GLOBAL: ['USERS_READ'], self: 'jane' }
const updateOrSelf: Need = { GLOBAL: ['USERS_UPDATE'], self: 'jane' }

const certificatesOfUsers: readonly Row[] = [
  needing(updateOrSelf)('createRaCertificateForSingleUser'),
  needing(global('USERS_UPDATE'), createUnder)('createRaCertificateForSingleUser', {
    body: { policyId, validFor: 'ONE_YEAR', keyPairMode: 'SERVER_GEN', keyGenParamsDto: { cryptoAlgorithm: 'EC' } },
    status: 422,
  }),
  needing(global('USERS_UPDATE'))('createBatchRaCertificateForUsers'),
  needing(readUser)('getUserRaCertificate', hasOne),
  needing(readUser)('downloadUserRaCertificate', hasOne),
  needing(readUser)('downloadUserRaCertificateChain', hasOne),
  needing(readUser)('downloadRaCertCrl', hasOne),
  needing(readUser)('getRaOcspStatus', { ...hasOne, status: 422 }),
  needing({ self: 'jane', creatorOf: 'Certificate' })('retrieveRaCertificateP12', hasOne),
  needing(updateOrSelf)('revokeRaCertificate', hasOne),
  needing(admin)('createRaCertificateForSingleUser', ofAdmin),
  ...['retrieveRaCertificateP12', 'revokeRaCertificate'].map(name => needing(admin)(name, { ...hasOne, ...ofAdmin })),
]

const people: readonly Row[] = [
  // The address is taken, so that nobody is made at the identity provider, which others use as well.
  needing(global('USERS_CREATE'))('registerUser', {
    body: { firstName: 'Jane', lastName: 'Doe', email: 'jane@example.org' },
    status: 409,
  }),
  needing({ GLOBAL: ['USERS_READ'], self: 'jane' })('getUser'),
  needing(global('USERS_READ'))('searchUsers'),
  // Nobody's yet.
  needing(global('USERS_READ'))('findUserByRaCertificate', { status: 404 }),
  needing(global('USERS_UPDATE'))('setUserCertificateDetails'),
  needing(global('USERS_UPDATE'))('editPasswordLoginRoleToUser'),
  needing(global('USERS_UPDATE'))('sendUpdatePasswordEmailBatch'),
  ...['setUserCertificateDetails', 'editPasswordLoginRoleToUser', 'sendUpdatePasswordEmailBatch'].map(name =>
    needing(admin)(name, ofAdmin),
  ),
  needing(admin)('importProviderUsers'),
  needing(admin)('importProviderClients'),
]

const realmsAndPolicies: readonly Row[] = [
  needing(global('REALMS_CREATE'))('createNewRealm'),
  needing(readRealm)('getRealm'),
  withToken('getRealms', { shows: realms }),
  needing(realm('UPDATE'))('updateRealm'),
  needing(realm('UPDATE'))('getAuthorizedUsers'),
  needing(realm('POLICIES_CREATE'))('createNewPolicy'),
  needing(readPolicy)('getPolicy'),
  needing(policy('UPDATE'))('updatePolicy'),
  needing(enterRealm)('searchPolicies', { shows: policies }),
  withToken('searchPolicies', { shows: policies, body: { simpleSearchTerm: 'web' } }),
  needing(enterRealm)('getPolicyByRealmId', { shows: policies }),
  withToken('getPoliciesInRealms', { shows: policies }),
  withToken('getPoliciesByCertificateProviderId', { shows: policies }),
  needing(readPolicy)('checkEndEntityWithRules'),
  needing(readPolicy, readEndEntity)('checkEndEntityWithRules', { body: { endEntityId } }),
  needing(readEndEntity)('availablePoliciesWithoutPasswordByEndEntityId', { shows: policies }),
]

const subjects: readonly Row[] = [
  needing(realm('ENDENTITIES_CREATE'))('createNewEndEntity'),
  needing(realm('ENDENTITIES_CREATE'))('uploadEndEntitiesCsv'),
  needing(realm('ENDENTITIES_CREATE'), readPolicy)('uploadEndEntitiesCsv', {
    body: { realmId: exampleIds.Realm, policyId, csv: 'commonName;domains\nweb-04;web-04.example.org\n' },
  }),
  needing(readEndEntity)('getEndEntity'),
  needing(readEndEntity)('getEndEntityByRealmIdAndExternalId'),
  needing(readEndEntity)('findEeByCertBytes', { issued: 'BYTES', unknown: 'END_ENTITY_NOT_FOUND' }),
  needing(readPolicy, readEndEntity)('findEndEntityByPolicyIdAndEndEntityDataset'),
  needing(readPolicy, readEndEntity)('findEndEntityByPolicyIdAndPkcs10'),
  needing({ END_ENTITY: ['UPDATE'] })('setEndEntityAlias'),
  needing(enterRealm)('searchEndEntities', { shows: endEntities }),
  needing(enterRealm, readPolicy)('searchEndEntities', {
    shows: endEntities,
    body: { realmId: exampleIds.Realm, policyId },
  }),
  needing(enterRealm, readPolicy)('searchEndEntities', {
    shows: endEntities,
    body: { realmId: exampleIds.Realm, withoutPasswordForPolicyId: policyId },
  }),
]

const updateEndEntity: Need = { END_ENTITY: ['UPDATE'] }
const hasPassword = { state: 'HAS_PASSWORD' } as const

const passwords: readonly Row[] = [
  needing(updateEndEntity, readPolicy)('createNewEndEntityPassword'),
  needing(updateEndEntity, readPolicy)('createNewEndEntityPassword', { body: { endEntityId, policyId } }),
  needing(updateEndEntity, readPolicy)('resetEndEntityPassword', hasPassword),
  needing(updateEndEntity, readPolicy)('deleteEndEntityPassword', hasPassword),
  needing(readEndEntity)('getEndEntityPasswordByEndEntityIdAndPolicyId', hasPassword),
  needing(readEndEntity)('getEndEntityPasswordsByEndEntityId', hasPassword),
  needing(policy('SIGN'))('authorizeWithEEidAndPassword'),
  needing(updateEndEntity, readPolicy)('createScepChallenge'),
]

const approving: Need = { CERT_REQUEST: ['APPROVE'], POLICY: ['CERTREQS_APPROVE'] }
const waits = { state: 'WAITS_FOR_APPROVAL' } as const

const orders: readonly Row[] = [
  needing(createUnder, readEndEntity)('createCertRequest'),
  needing(createUnder, perItem(readEndEntity))('createMultipleCertRequest'),
  needing(createUnder, readEndEntity)('examinePkcs10Request'),
  needing(createUnder, realm('ENDENTITIES_CREATE'))('importCertificates'),
  needing(createUnder, realm('ENDENTITIES_CREATE'))('verifyImportCertificates'),
  needing(createUnder, readEndEntity)('importCertificates', {
    body: { policyId, endEntityId, [pem]: 'none' },
    status: 422,
  }),
  needing(createUnder, readEndEntity)('verifyImportCertificates', {
    body: { policyId, endEntityId, [pem]: 'none' },
    status: 422,
  }),
  needing(readRequest)('getCertRequest'),
  needing(readRequest)('getCertRequestByPkcs10AndEndEntity'),
  needing(enterRealm)('searchCertRequests', { shows: requests }),
  needing(enterRealm)('getMostRecentPendingCertificates', { shows: requests, ...waits }),
  needing(approving)('approveCertRequest', waits),
  needing({ ...approving, creatorOf: 'CertRequest' })('declineCertRequest', waits),
  needing({ CERT_REQUEST: ['UPDATE'], POLICY: ['CERTS_CREATE'] })('resendEmailVerificationForCertRequest', {
    status: 409,
  }),
  needing(createUnder, readRequest)('createCertificate'),
  needing(createUnder, readRequest)('orderCertificate'),
  needing(perItem(createUnder), perItem(readRequest))('createMultipleCertificates'),
  needing(perItem(createUnder), perItem(readRequest))('orderMultipleCertificates'),
  needing(readOrder)('getOrder', { ofCertificate: true }),
  needing(readOrder)('getOrderItems', { ofCertificate: true }),
]

const revoking: Need = { CERTIFICATE: ['REVOKE'], POLICY: ['CERTS_REVOKE'] }

const issued: readonly Row[] = [
  needing(readCertificate)('getCertificateDetails'),
  needing(readCertificate)('getCertificateByFingerprint', { issued: 'FINGERPRINT', unknown: 'CERTIFICATE_NOT_FOUND' }),
  needing(readCertificate)('getCertificateByIssuerDnBinAndSerialNumber', {
    issued: 'ISSUER_AND_SERIAL',
    unknown: 'CERTIFICATE_NOT_FOUND',
  }),
  needing(readCertificate)('getAuditEventsForCertificate'),
  needing(readCertificate)('downloadCertificate'),
  needing(readCertificate)('downloadCertificateChain'),
  needing(readCertificate)('downloadCertificatesAsZip'),
  needing(readCertificate)('emailCertificate', { status: 400 }),
  needing(readCertificate, ownKey)('downloadCertificatePrivateKey'),
  needing(readCertificate, ownKey)('retrieveCertificateP12'),
  needing(readPolicy)('downloadCaChainForPolicy'),
  needing(readCertificate)('downloadCrl'),
  // It names no responder that is there.
  needing(readCertificate)('getOcspStatus', { status: 422 }),
  needing(revoking)('revokeCertificate'),
  needing(perItem(revoking))('revokeMultipleCertificates'),
  needing(revoking)('markCertificatesAsRevoked'),
  withToken('searchCertificates', { shows: certificates }),
  needing(enterRealm)('searchCertificates', { shows: certificates, body: { realmId: exampleIds.Realm } }),
  needing(enterRealm)('getCertificatesByRealmId', { shows: certificates }),
  needing(enterRealm)('getSoonExpiringCertificates', { shows: certificates, state: 'EXPIRES_SOON' }),
  needing(realm('FULL_READ'))('getLatestAuditEvents'),
  needing(realm('FULL_READ'))('getCertificateStatisticsForRealm'),
]

const usesCmp = { state: 'USES_CMP' } as const

const signing: readonly Row[] = [
  // The envelope of the example is for another signer.
  needing(policy('SIGN'))('decryptData', { status: 422 }),
  needing(policy('SIGN'))('signDataScep'),
  needing(policy('SIGN'))('getScepConfiguration'),
  needing(policy('SIGN'))('signDataWithCA', { onlyFor: 'API_CLIENT' }),
  needing(policy('SIGN'))('calculateMac', usesCmp),
  needing(policy('SIGN'))('verifyMac', usesCmp),
  needing(policy('SIGN'))('signData', usesCmp),
  needing(readPolicy)('getCmpConfigurationByPolicyId', usesCmp),
]

/** Every call of contract 7.4 that is tried; those of operations that are not mounted wait for them. */
export const matrix: readonly Row[] = [
  ...administration,
  ...granting,
  ...machines,
  ...people,
  ...certificatesOfUsers,
  ...realmsAndPolicies,
  ...subjects,
  ...passwords,
  ...orders,
  ...issued,
  ...signing,
]
