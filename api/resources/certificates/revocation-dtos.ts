// The types of revocations and revocation lists (contract 6.5).
import { z } from 'zod'
import { CertStatus, OcspStatus, RevocationReason, valuesOf } from '../../../domain/enums.ts'
import {
  Base64,
  dto,
  enumOf,
  idsOf,
  listOf,
  maybe,
  Metadata,
  nullable,
  Timestamp,
  Uuid,
  withDefault,
} from '../../kernel/dto.ts'
import { BatchItemError } from '../../kernel/shared-dtos.ts'

const Reason = enumOf(RevocationReason, 'RevocationReason')

/** A reason as a parameter. */
export const ReasonParameter = z.enum(valuesOf(RevocationReason))

/** Certificates to revoke, hold or release. */
export const RevokeCertificateRequestDto = dto('RevokeCertificateRequestDto', {
  certificateIds: idsOf(),
  revocationReason: withDefault(Reason, 'UNSPECIFIED'),
})

/** Certificates that were revoked elsewhere. */
export const MarkCertificatesAsRevokedRequestDto = dto('MarkCertificatesAsRevokedRequestDto', {
  certificateIds: idsOf(),
  revocationReason: withDefault(Reason, 'UNSPECIFIED'),
  revocationDate: maybe(Timestamp),
})

/** A certificate after its revocation, hold or release. */
export const RevokeCertificateResponseDto = dto('RevokeCertificateResponseDto', {
  id: Uuid,
  certStatus: enumOf(CertStatus, 'CertStatus'),
  revocationReason: nullable(Reason),
  revocationDate: nullable(Timestamp),
  metadata: Metadata,
})

/** The certificates that were revoked, and why others were not. */
export const RevokeMultipleCertificateResponseDto = dto('RevokeMultipleCertificateResponseDto', {
  revokedCertificates: listOf(RevokeCertificateResponseDto),
  errors: listOf(BatchItemError),
})

/** The revocation list of a certificate's CA. */
export const CrlDto = dto('CrlDto', {
  id: Uuid,
  fileName: z.string(),
  crl: Base64,
  issuerDn: z.string(),
  thisUpdate: Timestamp,
  nextUpdate: nullable(Timestamp),
})

/** The status of a certificate as its OCSP responder told it. */
export const OcspStatusCheckDto = dto('OcspStatusCheckDto', {
  id: Uuid,
  status: enumOf(OcspStatus, 'OcspStatus'),
  revocationReason: nullable(Reason),
  revocationDate: nullable(Timestamp),
  producedAt: Timestamp,
  thisUpdate: Timestamp,
  nextUpdate: nullable(Timestamp),
  responderUrl: z.string(),
})
