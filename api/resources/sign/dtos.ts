// The types of signatures by the CA of a policy (contract 6.8).
import { z } from 'zod'
import { mebibyte } from '../../kernel/body-limit.ts'
import { Base64Within, dto, maybe, Uuid } from '../../kernel/dto.ts'

/** So many octets are signed at most. */
const longestData = mebibyte

/** Base64 of those, with some room for line ends. */
const longestDataText = 1_500_000

/** A signature with the certificate that it is checked by. */
export const signature = {
  signatureBase64: Base64Within(longestDataText),
  signatureAlgorithm: z.string(),
  signerCertificatePem: z.string(),
  caChainPem: z.string(),
}

/** What is to be signed, as Base64. */
export const SignedData = Base64Within(longestDataText).refine(data => data.length <= longestData, {
  error: 'must have at most 1 MiB',
})

export const SignDataRequestDto = dto('SignDataRequestDto', {
  policyId: Uuid,
  dataBase64: SignedData,
  digestAlgorithm: maybe(z.enum(['SHA-256', 'SHA-384', 'SHA-512'])),
})

export const SignDataResponseDto = dto('SignDataResponseDto', signature)
