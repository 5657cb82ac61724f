// The types of what a CMP server asks for (contract 6.8).
import { z } from 'zod'
import { findDigest, findHmac } from '../../../pki/cmp/mac-parameters.ts'
import { Base64Within, dto, Int, Text, Uuid } from '../../kernel/dto.ts'
import { CmpPolicyConfigurationDto } from '../policies/dtos.ts'
import { SignedData } from '../sign/dtos.ts'

/** Octets of a salt. */
const [shortestSalt, longestSalt] = [8, 64]
/** Base64 of salts and MACs, with room for line ends. */
const longestShortText = 200

const algorithm = (find: (text: string) => unknown, names: string) =>
  Text().refine(text => find(text) !== null, { error: `must be one of ${names}, or its OID` })

const macMembers = {
  endEntityId: Uuid,
  policyId: Uuid,
  dataBase64: SignedData,
  salt: Base64Within(longestShortText).refine(salt => salt.length >= shortestSalt && salt.length <= longestSalt, {
    error: `must have ${shortestSalt} to ${longestSalt} octets`,
  }),
  iterationCount: Int(100, 1_000_000),
  owfAlgorithm: algorithm(findDigest, 'SHA-1, SHA-224, SHA-256, SHA-384, SHA-512'),
  macAlgorithm: algorithm(findHmac, 'HMAC-SHA1, HMAC-SHA224, HMAC-SHA256, HMAC-SHA384, HMAC-SHA512'),
}

export const CmpCalculateMacRequestDto = dto('CmpCalculateMacRequestDto', macMembers)

export const CmpCalculateMacResponseDto = dto('CmpCalculateMacResponseDto', {
  macBase64: Base64Within(longestShortText),
})

export const CmpVerifyMacRequestDto = dto('CmpVerifyMacRequestDto', {
  ...macMembers,
  macBase64: Base64Within(longestShortText),
})

export const CmpVerifyMacResponseDto = dto('CmpVerifyMacResponseDto', { result: z.boolean() })

export const CmpSignRequestDto = dto('CmpSignRequestDto', { policyId: Uuid, dataBase64: SignedData })

export const GetCmpConfigurationResponseDto = dto('GetCmpConfigurationResponseDto', {
  policyId: Uuid,
  ...CmpPolicyConfigurationDto.shape,
  signerCertificatePem: z.string(),
  caChainPem: z.string(),
})
