// The types of the SCEP signers of policies (contract 6.8).
import { z } from 'zod'
import { Base64, Base64ToJudge, dto, nullable, Uuid, withDefault } from '../../kernel/dto.ts'
import { signature } from '../sign/dtos.ts'

/** Base64 of 128 KiB, with some room for line ends: a gateway takes no larger message. */
const longestEnvelope = 180_000

/** Those of a reply have some hundred octets. */
const longestAttributes = 16_384

export const ScepDecryptDataRequestDto = dto('ScepDecryptDataRequestDto', {
  policyId: Uuid,
  dataBase64: Base64ToJudge(longestEnvelope),
})

export const ScepDecryptDataResponseDto = dto('ScepDecryptDataResponseDto', {
  decryptedDataBase64: Base64,
  contentEncryptionAlgorithm: z.string(),
})

export const ScepSignRequestDto = dto('ScepSignRequestDto', {
  policyId: Uuid,
  dataBase64: Base64ToJudge(longestAttributes),
  digestAlgorithm: withDefault(z.enum(['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512']), 'SHA-256'),
})

export const ScepSignDataResponseDto = dto('ScepSignDataResponseDto', signature)

export const ScepConfigurationDto = dto('ScepConfigurationDto', {
  policyId: Uuid,
  enabled: z.boolean(),
  signerMode: z.enum(['RA', 'CA']),
  signerCertificatePem: z.string(),
  caChainPem: z.string(),
  nextCaChainPem: nullable(z.string()),
})
