// The one transaction that keeps what a certificate import brings: all of it or nothing (contract 7.2, 10.4, 11.1).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { AuditEventType } from '../domain/audit.ts'
import { nameOf, type EndEntityFields } from '../domain/end-entity-rules.ts'
import { AuditEvent } from './rows/audit-event.ts'
import { Ca } from './rows/ca.ts'
import { CertRequest } from './rows/cert-request.ts'
import { Certificate } from './rows/certificate.ts'
import { certificateColumns, type CertificateFacts } from './certificate-row.ts'
import { EndEntity } from './rows/end-entity.ts'
import { grant } from './grant.ts'
import { insertRows } from './insert-rows.ts'
import type { Policy } from './rows/policy.ts'
import { actor, stampOf } from './rows/stamp.ts'

/** An end entity that an import makes. */
export interface NewEndEntity {
  readonly id: string
  readonly fields: EndEntityFields
}

/** A CA certificate that an import brings along. */
export interface NewCa {
  readonly id: string
  readonly filename: string
  readonly issuerCaId: string | null
  readonly certificate: CertificateFacts
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

const caRow = ({ id, filename, issuerCaId, certificate }: NewCa, stamp: RowStamp) => ({
  id,
  ...stamp,
  name: certificate.subjectCommonName && Array.from(certificate.subjectCommonName).slice(0, 255).join(''),
  filename,
  subjectDn: certificate.subjectDn,
  subjectCommonName: certificate.subjectCommonName,
  issuerDn: certificate.issuerDn,
  issuerCommonName: certificate.issuerCommonName,
  serialNumber: certificate.serialNumber,
  fingerprint: certificate.fingerprint,
  validNotBefore: certificate.validNotBefore,
  validNotAfter: certificate.validNotAfter,
  publicKeyAlgorithm: certificate.cryptoAlgorithm ?? ('RSA' as const),
  issuerCaId,
  root: certificate.selfSigned,
  trusted: false,
  der: certificate.der,
})

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
})

interface Kept extends NewCertificate {
  readonly certRequestId: string
}

const factsOf = ({ policy, endEntities, cas }: Import, kept: readonly Kept[]) => {
  const fact = (eventType: AuditEventType, objectId: string, what: string) => ({ eventType, objectId, what })
  const inRealm = { realmId: policy.realmId, certificateId: null }
  const under = `under policy ${policy.name}`
  return [
    ...cas.map(({ id, certificate }) => ({
      ...fact('ENTITY_CREATED', id, `CA record ${certificate.subjectDn} of an imported chain created`),
      realmId: null,
      certificateId: null,
    })),
    ...endEntities.map(({ id, fields }) => ({
      ...fact('ENTITY_CREATED', id, `End entity ${nameOf(fields)} of an import created`),
      ...inRealm,
    })),
    ...kept.map(({ id, certRequestId }) => ({
      ...fact('CERT_REQUEST_CREATED', certRequestId, `Certificate request of an imported certificate ${under} created`),
      ...inRealm,
      certificateId: id,
    })),
    ...kept.map(({ id, certificate: { subjectDn, serialNumber } }) => ({
      ...fact('CERTIFICATE_IMPORTED', id, `Certificate ${subjectDn || serialNumber} ${under} imported`),
      ...inRealm,
      certificateId: id,
    })),
  ]
}

const recordAll = (em: EntityManager, brought: Import, { kept, now }: { kept: readonly Kept[]; now: Date }) => {
  const { id, type, name } = actor(em)
  const rows = factsOf(brought, kept).map(({ what, ...fact }) => ({
    ...fact,
    eventDescription: `${what} by ${name}`,
    principalId: id,
    principalType: type,
    occurredDate: now,
  }))
  return insertRows(em, AuditEvent, rows)
}

/** Gives the importer what contract 7.2 says of each kind. */
const giveGrants = async (em: EntityManager, { endEntities }: Import, kept: readonly Kept[]): Promise<void> => {
  const { id } = actor(em)
  const own = ['READ', 'UPDATE', 'DELETE']
  const idsOf = (rows: readonly { id: string }[]) => rows.map(row => row.id)
  await grant(em, id, { scope: 'END_ENTITY', resourceIds: idsOf(endEntities), permissions: own })
  const requestIds = kept.map(({ certRequestId }) => certRequestId)
  await grant(em, id, { scope: 'CERT_REQUEST', resourceIds: requestIds, permissions: own })
  await grant(em, id, { scope: 'CERTIFICATE', resourceIds: idsOf(kept), permissions: ['READ', 'REVOKE'] })
}

/** Stores an import in the running transaction, all of it, and answers the rows of its certificates. */
export const storeImport = async (em: EntityManager, brought: Import, now: Date) => {
  const { policy, endEntities, cas, certificates } = brought
  const stamp = stampOf(em, now)
  const kept = certificates.map(certificate => ({ ...certificate, certRequestId: crypto.randomUUID() }))
  const rows = kept.map(one => certificateRow(policy, one, stamp))
  await insertRows(
    em,
    Ca,
    cas.map(ca => caRow(ca, stamp)),
  )
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
  await giveGrants(em, brought, kept)
  await recordAll(em, brought, { kept, now })
  return rows.map(row => ({ ...row, version: 1 }))
}
