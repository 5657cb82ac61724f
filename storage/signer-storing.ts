// Keeping a signer that was made for a policy: request, certificate, sealed key, and the facts that an auditor finds, in the
// caller's transaction.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { KeyGenParams } from '../domain/policy-rules.ts'
import { recordMany, type Fact } from './audit.ts'
import { certificateColumns, type CertificateFacts } from './certificate-row.ts'
import { insertRows } from './insert-rows.ts'
import { signerKeyUse } from './key-uses.ts'
import { retireSigner } from './policy-signers.ts'
import { Certificate } from './rows/certificate.ts'
import { CertRequest } from './rows/cert-request.ts'
import type { EndEntity } from './rows/end-entity.ts'
import type { Policy } from './rows/policy.ts'
import { PolicySigner } from './rows/policy-signer.ts'
import { PrivateKey } from './rows/private-key.ts'
import { stampOf } from './rows/stamp.ts'
import type { Seal } from './seal.ts'

/** A signer that is not stored yet. */
export interface NewSigner {
  readonly policy: Policy
  readonly owner: EndEntity
  readonly certificate: CertificateFacts
  readonly issuerCaId: string
  /** The partition of its CRL; null without. */
  readonly crlPartition: number | null
  /** SHA-256 of its SubjectPublicKeyInfo, hex. */
  readonly hash: string
  readonly keySpec: KeyGenParams
  readonly pkcs8: Buffer
}

interface Ids {
  readonly certRequestId: string
  readonly certificateId: string
}

const factsOf = ({ policy, owner, certificate }: NewSigner, { certRequestId, certificateId }: Ids): Fact[] => {
  const place = { realmId: policy.realmId, certificateId }
  const signer = certificate.subjectDn || certificate.serialNumber
  return [
    {
      type: 'CERT_REQUEST_CREATED',
      objectId: certRequestId,
      ...place,
      what: `Certificate request of ${owner.commonName ?? owner.id} for the SCEP signer of policy ${policy.name} created`,
    },
    {
      type: 'CERTIFICATE_ISSUED',
      objectId: certificateId,
      ...place,
      what: `Certificate ${signer} issued for request ${certRequestId}`,
    },
    {
      type: 'SIGNER_RENEWED',
      objectId: policy.id,
      ...place,
      what: `SCEP signer ${signer} (${certificate.serialNumber}) of policy ${policy.name} made`,
    },
  ]
}

const requestRow = ({ policy }: NewSigner) => ({
  validFor: 'ONE_YEAR',
  keyPairMode: 'SERVER_GEN',
  certRequestStatus: 'ISSUED',
  requiresManualApproval: policy.requiresManualApproval,
  dualControl: policy.dualControl,
  requesterMayApprove: policy.requesterMayApprove,
  userResponses: [],
})

/** Stores a signer and makes it the present one of its policy. */
export const storeSigner = async (
  em: EntityManager,
  signer: NewSigner,
  { seal, now }: { readonly seal: Seal; readonly now: Date },
): Promise<void> => {
  const { policy, owner, certificate, issuerCaId, hash, keySpec, pkcs8 } = signer
  const ids = { certRequestId: crypto.randomUUID(), certificateId: crypto.randomUUID() }
  const { certRequestId, certificateId } = ids
  const parents = { ...stampOf(em, now), realmId: policy.realmId, policyId: policy.id, endEntityId: owner.id }
  const privateKeyId = crypto.randomUUID()
  const use = signerKeyUse({ policyId: policy.id, certificateId }, hash)
  await retireSigner(em, policy.id, now)
  await insertRows(em, PrivateKey, [{ id: privateKeyId, sealed: seal.seal(pkcs8, use), createdDate: now }])
  await insertRows(em, CertRequest, [
    { id: certRequestId, ...parents, ...requestRow(signer), keyGenParamsDto: keySpec, certificateId },
  ])
  await insertRows(em, Certificate, [
    {
      id: certificateId,
      ...parents,
      certRequestId,
      issuerCaId,
      ...certificateColumns(certificate, hash),
      crlPartition: signer.crlPartition,
      keyPairMode: 'SERVER_GEN',
    },
  ])
  const present = { id: crypto.randomUUID(), policyId: policy.id, certificateId, privateKeyId, createdDate: now }
  await insertRows(em, PolicySigner, [present])
  await recordMany(em, factsOf(signer, ids), { now })
}
