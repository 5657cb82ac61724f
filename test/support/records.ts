// Records that tests begin with, made straight in the database: what is not said gets a default.
import { randomBytes, randomUUID } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { endEntityFields, type SubjectData } from '../../domain/end-entity-rules.ts'
import { everything, policyDefaults } from '../../domain/policy-rules.ts'
import { completeLocal } from '../../authority/providers/local-configuration.ts'
import { CertRequest } from '../../storage/rows/cert-request.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { EndEntity } from '../../storage/rows/end-entity.ts'
import { MailingList } from '../../storage/rows/mailing-list.ts'
import { Policy } from '../../storage/rows/policy.ts'
import { Realm } from '../../storage/rows/realm.ts'

const unique = (word: string): string => `${word} ${randomUUID()}`

/** A realm. */
export const makeRealm = async (em: EntityManager, members: { name?: string; archived?: boolean } = {}) => {
  const realm = em.create(Realm, { name: unique('Realm'), ...members })
  await em.flush()
  return realm
}

/** Links a mailing list of these addresses to a realm. */
export const linkMailingList = async (
  em: EntityManager,
  realmId: string,
  members: { emails: string[]; archived?: boolean },
) => {
  const list = em.create(MailingList, { name: unique('List'), ...members })
  await em.flush()
  await em.nativeUpdate(Realm, { id: realmId }, { mailingListId: list.id })
  return list
}

/** A LOCAL provider without keys. */
export const makeProvider = async (em: EntityManager, members: { name?: string; archived?: boolean } = {}) => {
  const name = unique('Provider')
  const settings = { ...completeLocal(name, {}) }
  const provider = em.create(CertificateProvider, { name, certificateProviderType: 'LOCAL', settings, ...members })
  await em.flush()
  return provider
}

/** A policy of a realm (with a provider of its own unless one is named). */
export const makePolicy = async (em: EntityManager, realm: Realm, members: Partial<Policy> = {}) => {
  const policy = em.create(Policy, {
    realmId: realm.id,
    name: unique('Policy'),
    certificateProviderId: members.certificateProviderId ?? (await makeProvider(em)).id,
    certificateProviderConfiguration: '{"templateSignerName":"CLIENT"}',
    endEntityStrategy: 'COMMON_NAME',
    endEntityRules: [],
    ...policyDefaults(everything),
    ...(members as object),
  })
  await em.flush()
  return policy
}

/** An end entity of a realm. */
export const makeEndEntity = async (
  em: EntityManager,
  realm: Realm,
  members: SubjectData & { archived?: boolean } = {},
) => {
  const { archived = false, ...subject } = members
  const fields = endEntityFields({ commonName: unique('cn'), ...subject })
  const endEntity = em.create(EndEntity, { realmId: realm.id, archived, ...fields })
  await em.flush()
  return endEntity
}

/** A request of an end entity under a policy. */
export const makeRequest = async (em: EntityManager, policy: Policy, endEntity: EndEntity) => {
  const request = em.create(CertRequest, {
    realmId: policy.realmId,
    policyId: policy.id,
    policyName: policy.name,
    endEntityId: endEntity.id,
    endEntityCommonName: null,
    endEntityAlias: null,
    keyPairMode: 'SERVER_GEN',
    certRequestStatus: 'APPROVED',
    requiresManualApproval: false,
    dualControl: false,
    requesterMayApprove: true,
    userResponses: [],
  })
  await em.flush()
  return request
}

/** The row of a certificate, whose bytes are none, with a request of its own. */
export const makeCertificate = async (
  em: EntityManager,
  policy: Policy,
  { endEntity, ...members }: { endEntity: EndEntity } & Partial<Certificate>,
) => {
  const request = await makeRequest(em, policy, endEntity)
  const commonName = endEntity.commonName ?? unique('cn')
  const certificate = em.create(Certificate, {
    realmId: policy.realmId,
    policyId: policy.id,
    policyName: policy.name,
    endEntityId: endEntity.id,
    endEntityCommonName: null,
    endEntityAlias: null,
    certRequestId: request.id,
    der: randomBytes(64),
    serialNumber: randomBytes(16).toString('hex'),
    fingerprint: randomBytes(32).toString('hex'),
    publicKeyHash: randomBytes(32).toString('hex'),
    subjectDn: `CN=${commonName}`,
    subjectCommonName: commonName,
    issuerDn: 'CN=Test CA',
    validNotBefore: new Date(),
    validNotAfter: new Date(Date.now() + 86_400_000),
    certPublicKeyAlgorithm: 'EC',
    signatureAlgorithm: 'SHA256_WITH_ECDSA',
    subjectAlternativeNames: [],
    keyUsages: [],
    extendedKeyUsages: [],
    crlDistributionPoints: [],
    ocspUrls: [],
    keyPairMode: 'SERVER_GEN',
    ...(members as object),
  })
  await em.flush()
  return certificate
}
