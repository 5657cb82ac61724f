// The types of certificate requests (contract 6.4).
import { z } from 'zod'
import { CertRequestStatus, KeyPairMode, ValidFor } from '../../domain/enums.ts'
import {
  ArchiveInfo,
  Base64,
  dto,
  enumOf,
  idsOf,
  listOf,
  maybe,
  Metadata,
  nullable,
  sameAs,
  Timestamp,
  Uuid,
  withDefault,
} from '../dto.ts'
import { BatchItemError, KeyGenParamsDto, UserResponseDto } from '../shared-types.ts'

const status = enumOf(CertRequestStatus, 'CertRequestStatus')
const validFor = enumOf(ValidFor, 'ValidFor')
const keyPairMode = enumOf(KeyPairMode, 'KeyPairMode')

export const CreateCertReqRequestDto = dto('CreateCertReqRequestDto', {
  policyId: Uuid,
  endEntityId: Uuid,
  validFor,
  keyPairMode,
  keyGenParamsDto: maybe(KeyGenParamsDto),
  pkcs10ReqBase64: maybe(Base64),
  publicKeyBase64: maybe(Base64),
})
export type CreateCertReqRequest = z.output<typeof CreateCertReqRequestDto>

export const GetCertReqResponseDto = dto('GetCertReqResponseDto', {
  id: Uuid,
  realmId: Uuid,
  policyId: Uuid,
  endEntityId: Uuid,
  policyName: z.string(),
  endEntityCommonName: nullable(z.string()),
  endEntityAlias: nullable(z.string()),
  validFor: nullable(validFor),
  keyPairMode,
  keyGenParamsDto: nullable(KeyGenParamsDto),
  pkcs10ReqBase64: nullable(Base64),
  publicKeyBase64: nullable(Base64),
  certRequestStatus: status,
  certificateId: nullable(Uuid),
  orderId: nullable(z.string()),
  requiresManualApproval: z.boolean(),
  dualControl: z.boolean(),
  userResponses: z.array(UserResponseDto),
  emailVerifiedDate: nullable(Timestamp),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})

export const CreateCertReqResponseDto = sameAs('CreateCertReqResponseDto', GetCertReqResponseDto)

export const CreateMultipleCertReqRequestDto = dto('CreateMultipleCertReqRequestDto', {
  policyId: Uuid,
  endEntityIds: idsOf(),
  validFor,
  keyPairMode: withDefault(z.literal('SERVER_GEN'), 'SERVER_GEN'),
  keyGenParamsDto: KeyGenParamsDto,
})

export const CreateMultipleCertReqResponseDto = dto('CreateMultipleCertReqResponseDto', {
  certRequests: listOf(GetCertReqResponseDto),
  errors: listOf(BatchItemError),
})

const decisionFields = {
  id: Uuid,
  certificateId: nullable(Uuid),
  certRequestStatus: status,
  userResponses: z.array(UserResponseDto),
  metadata: Metadata,
}

export const ApproveCertReqResponseDto = dto('ApproveCertReqResponseDto', decisionFields)
export const DeclineCertReqResponseDto = dto('DeclineCertReqResponseDto', decisionFields)
