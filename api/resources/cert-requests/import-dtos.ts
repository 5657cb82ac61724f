// The types of certificate imports (contract 6.1, 6.4).
import { z } from 'zod'
import { hasMoreBlocks } from '../../../pki/pem.ts'
import { dto, listOf, Long, LongText, maybe, nullable, sameAs, Timestamp, Uuid } from '../../kernel/dto.ts'
import { ApiErrorValue, BatchItemError } from '../../kernel/shared-dtos.ts'
import { CertificateDto } from '../certificates/dtos.ts'

const maxBlocks = 10_000

/** PEM text of at most so many blocks; more are REQUEST_TOO_LARGE, as items of a list are. */
export const PemBlocks = (max: number) =>
  LongText().check(({ value, issues }) => {
    if (hasMoreBlocks(value, max))
      issues.push({ code: 'too_big', origin: 'array', maximum: max, inclusive: true, input: [] })
  })

/** Certificates to be imported under a policy. */
export const ImportCertificatesRequestDto = dto('ImportCertificatesRequestDto', {
  policyId: Uuid,
  pemCertificates: PemBlocks(maxBlocks),
  endEntityId: maybe(Uuid),
})

/** Certificates whose import is to be verified. */
export const VerifyImportCertificatesRequestDto = sameAs(
  'VerifyImportCertificatesRequestDto',
  ImportCertificatesRequestDto,
)

/** What an import stored, knew already and refused. */
export const ImportCertificatesResponseDto = dto('ImportCertificatesResponseDto', {
  total: Long,
  importedCertificates: listOf(CertificateDto),
  alreadyKnownCertificateIds: listOf(Uuid),
  errors: listOf(BatchItemError),
})

/** The fields of ParsedCertificateDto; what cannot be read is null. */
export const parsedCertificate = {
  index: Long,
  subjectDn: nullable(z.string()),
  issuerDn: nullable(z.string()),
  serialNumber: nullable(z.string()),
  fingerprint: nullable(z.string()),
  validNotBefore: nullable(Timestamp),
  validNotAfter: nullable(Timestamp),
  alreadyKnown: z.boolean(),
  issuerKnown: z.boolean(),
  importable: z.boolean(),
  apiError: nullable(ApiErrorValue),
  message: nullable(z.string()),
}

/** What an import would do with each certificate. */
export const VerifyImportCertificatesResponseDto = dto('VerifyImportCertificatesResponseDto', {
  total: Long,
  importable: Long,
  results: listOf(z.object({ ...parsedCertificate, selfSigned: z.boolean(), endEntityId: nullable(Uuid) })),
})
