// The types of the validation of certificates (contract 6.5).
import { z } from 'zod'
import { longestText } from '../../../pki/pem.ts'
import { dto, listOf, LongText, nullable } from '../../kernel/dto.ts'
import { CaCertificateDataPemDto } from '../cas/dtos.ts'

/** The certificate that is judged, and behind it others that help to find its chain. */
export const RawPemCertificateDto = dto('RawPemCertificateDto', { pemCertificate: LongText(longestText) })

/** Whether a certificate is valid, the CAs above it, and why it is not. */
export const CertificateValidationResponseDto = dto('CertificateValidationResponseDto', {
  result: z.boolean(),
  caChain: listOf(CaCertificateDataPemDto),
  errorMessage: nullable(z.string()),
})

/** Whether a certificate is valid. */
export const CertificatePlainValidationResponseDto = dto('CertificatePlainValidationResponseDto', {
  result: z.boolean(),
})
