// Keeping a signer that was made for a policy: request, certificate, sealed key, and the facts that an auditor finds, in the
// caller's transaction.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { KeyGenParams } from '../domain/policy-rules.ts'
import { recordMany, type Fact } from './audit.ts'
import { certificateColumns, type CertificateFacts } from './certificate-row.ts'
import { insertRows } from './insert-rows.ts'
import { signerKeyUse } from './key-uses.ts'
import { retireSigner, type SignerPlace } from './policy-signers.ts'
import { Certificate } from './rows/certificate.ts'
import { CertRequest } from './rows/cert-request.ts'
import type { EndEntity } from './rows/end-entity.ts'
import { PolicySigner } from './rows/policy-signer.ts'
import { PrivateKey } from './rows/private-key.ts'
import { stampOf } from './rows/stamp.ts'
import type { Seal } from './seal.ts'

/** A signer that is not stored yet. */
export interface NewSigner {
  readonly place: SignerPlace
  readonly owner: EndEntity
  readonly certificate: CertificateFacts
  readonly issuerCaId: string
  /** The lint that the certificate passed; null where it was signed elsewhere. */
  readonly lint: string | null
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

const factsOf = ({ place: { policy, kind, home }, ...signer }: NewSigner, ids: Ids): Fact[] => {
  const { owner, certificate, lint } = signer
  const { certRequestId, certificateId } = ids
  const there = { realmId: home.realmId, certificateId }
  const name = certificate.subjectDn || certificate.serialNumber
  return [
    {
      type: 'CERT_REQUEST_CREATED',
      objectId: certRequestId,
      ...there,
      what: `Certificate request of ${owner.commonName ?? owner.id} for the ${kind} signer of policy ${policy.name} created`,
    },
    {
      type: 'CERTIFICATE_ISSUED',
      objectId: certificateId,
      ...there,
      what: `Certificate ${name} issued for request ${certRequestId}${lint === null ? '' : ` after ${lint}`}`,
    },
    {
      type: 'SIGNER_RENEWED',
      objectId: policy.id,
      realmId: policy.realmId,
      certificateId,
      what: `${kind} signer ${name} (${certificate.serialNumber}) of policy ${policy.name} made`,
    },
  ]
}

const requestRow = ({ place: { home } }: NewSigner) => ({
  validFor: 'ONE_YEAR',
  keyPairMode: 'SERVER_GEN',
  certRequestStatus: 'ISSUED',
  requiresManualApproval: home.requiresManualApproval,
  dualControl: home.dualControl,
  requesterMayApprove: home.requesterMayApprove,
  userResponses: [],
})

/** Stores a signer and makes it the present one of its kind. */
export const storeSigner = async (
  em: EntityManager,
  signer: NewSigner,
  { seal, now }: { readonly seal: Seal; readonly now: Date },
): Promise<void> => {
  const { place, owner, certificate, issuerCaId, hash, keySpec, pkcs8 } = signer
  const { home, kind } = place
  const ids = { certRequestId: crypto.randomUUID(), certificateId: crypto.randomUUID() }
  const { certRequestId, certificateId } = ids
  const parents = { ...stampOf(em, now), realmId: home.realmId, policyId: home.id, endEntityId: owner.id }
  const privateKeyId = crypto.randomUUID()
  const made = { policyId: place.policy.id, kind, certificateId }
  const use = signerKeyUse(made, hash)
  await retireSigner(em, place, now)
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
  const present = { id: crypto.randomUUID(), ...made, privateKeyId, createdDate: now }
  await insertRows(em, PolicySigner, [present])
  await recordMany(em, factsOf(signer, ids), { now })
}
