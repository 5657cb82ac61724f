// The one transaction that keeps what a certificate import brings: all of it or nothing (contract 7.2, 10.4, 11.1).
import type { EntityManager } from '@mikro-orm/postgresql'
import { nameOf, type EndEntityFields } from '../domain/end-entity-rules.ts'
import { recordMany, type Fact } from './audit.ts'
import { CertRequest } from './rows/cert-request.ts'
import { Certificate } from './rows/certificate.ts'
import { storeCas, type NewCa } from './ca-import.ts'
import { certificateColumns, type CertificateFacts } from './certificate-row.ts'
import { EndEntity } from './rows/end-entity.ts'
import { grantCreator } from './grant.ts'
import { insertRows } from './insert-rows.ts'
import type { Policy } from './rows/policy.ts'
import { actor, stampOf } from './rows/stamp.ts'

/** An end entity that an import makes. */
export interface NewEndEntity {
  readonly id: string
  readonly fields: EndEntityFields
}

/** A certificate that an import keeps. */
export interface NewCertificate {
  readonly id: string
  readonly endEntityId: string
  readonly issuerCaId: string | null
  /** DER SubjectPublicKeyInfo and its hash. */
  readonly publicKeySpki: Buffer
  readonly publicKeyHash: string
  readonly certificate: CertificateFacts
}

/** Everything that one import brings. */
export interface Import {
  readonly policy: Policy
  readonly endEntities: readonly NewEndEntity[]
  readonly cas: readonly NewCa[]
  readonly certificates: readonly NewCertificate[]
}

type RowStamp = ReturnType<typeof stampOf>

const placeOf = ({ id, realmId }: Policy) => ({ policyId: id, realmId })

const requestRow = (policy: Policy, { certRequestId, ...one }: Kept, stamp: RowStamp) => ({
  id: certRequestId,
  ...stamp,
  ...placeOf(policy),
  endEntityId: one.endEntityId,
  validFor: null,
  keyPairMode: 'PUBLIC_KEY' as const,
  publicKey: one.publicKeySpki,
  certRequestStatus: 'ISSUED' as const,
  requiresManualApproval: policy.requiresManualApproval,
  dualControl: policy.dualControl,
  requesterMayApprove: policy.requesterMayApprove,
  userResponses: [],
  certificateId: one.id,
})

const certificateRow = (policy: Policy, { id, certRequestId, ...one }: Kept, stamp: RowStamp) => ({
  id,
  ...stamp,
  ...placeOf(policy),
  endEntityId: one.endEntityId,
  certRequestId,
  issuerCaId: one.issuerCaId,
  privateKeyId: null,
  ...certificateColumns(one.certificate, one.publicKeyHash),
  keyPairMode: 'PUBLIC_KEY' as const,
  imported: true,
  // What was past its end when it came never expired here.
  expiryRecorded: one.certificate.validNotAfter < stamp.createdDate,
})

interface Kept extends NewCertificate {
  readonly certRequestId: string
}

const factsOf = ({ policy, endEntities }: Import, kept: readonly Kept[]): Fact[] => {
  const { realmId } = policy
  const under = `under policy ${policy.name}`
  return [
    ...endEntities.map(({ id, fields }) => ({
      type: 'ENTITY_CREATED' as const,
      objectId: id,
      realmId,
      what: `End entity ${nameOf(fields)} of an import created`,
    })),
    ...kept.map(({ id, certRequestId }) => ({
      type: 'CERT_REQUEST_CREATED' as const,
      objectId: certRequestId,
      realmId,
      certificateId: id,
      what: `Certificate request of an imported certificate ${under} created`,
    })),
    ...kept.map(({ id, certificate: { subjectDn, serialNumber } }) => ({
      type: 'CERTIFICATE_IMPORTED' as const,
      objectId: id,
      realmId,
      certificateId: id,
      what: `Certificate ${subjectDn || serialNumber} ${under} imported`,
    })),
  ]
}

const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id)

const grantImporter = async (em: EntityManager, { endEntities }: Import, kept: readonly Kept[]): Promise<void> => {
  const { id } = actor(em)
  const requestIds = kept.map(({ certRequestId }) => certRequestId)
  await grantCreator(em, id, { scope: 'END_ENTITY', resourceIds: idsOf(endEntities) })
  await grantCreator(em, id, { scope: 'CERT_REQUEST', resourceIds: requestIds })
  await grantCreator(em, id, { scope: 'CERTIFICATE', resourceIds: idsOf(kept) })
}

/** Stores an import in the running transaction, all of it, and answers the rows of its certificates. */
export const storeImport = async (em: EntityManager, brought: Import, now: Date) => {
  const { policy, endEntities, cas, certificates } = brought
  const stamp = stampOf(em, now)
  const kept = certificates.map(certificate => ({ ...certificate, certRequestId: crypto.randomUUID() }))
  const rows = kept.map(one => certificateRow(policy, one, stamp))
  await storeCas(em, { cas, trusted: false, from: 'an imported chain' }, now)
  await insertRows(
    em,
    EndEntity,
    endEntities.map(({ id, fields }) => ({ id, ...stamp, realmId: policy.realmId, ...fields })),
  )
  await insertRows(
    em,
    CertRequest,
    kept.map(one => requestRow(policy, one, stamp)),
  )
  await insertRows(em, Certificate, rows)
  await grantImporter(em, brought, kept)
  await recordMany(em, factsOf(brought, kept), { now })
  return rows.map(row => ({ ...row, version: 1 }))
}
