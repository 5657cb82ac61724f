// The types of certificate requests (contract 6.4).
import { z } from 'zod'
import { CertRequestStatus, CryptoAlgorithm, KeyPairMode, ValidFor } from '../../../domain/enums.ts'
import {
  ArchiveInfo,
  Base64,
  dto,
  enumOf,
  idsOf,
  listOf,
  Long,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  setOf,
  Timestamp,
  Uuid,
  withDefault,
} from '../../kernel/dto.ts'
import {
  ApiErrorValue,
  BatchItemError,
  EndEntityPropertyValue,
  KeyGenParamsDto,
  subjectAnswer,
  UserResponseDto,
} from '../../kernel/shared-dtos.ts'

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

export const GetCertReqResponseDtoPage = pageDto('GetCertReqResponseDtoPage', GetCertReqResponseDto)

export const CertReqSearchRequestDto = dto('CertReqSearchRequestDto', {
  realmId: Uuid,
  simpleSearchTerm: MaybeText(),
  policyId: maybe(Uuid),
  endEntityId: maybe(Uuid),
  certRequestIds: maybe(idsOf()),
  certRequestStatuses: maybe(setOf(status)),
  createdBy: maybe(Uuid),
  archived: withDefault(z.boolean(), false),
})

const GetPendingCertReqResponseDto = dto('GetPendingCertReqResponseDto', {
  id: Uuid,
  policyId: Uuid,
  endEntityId: Uuid,
  policyName: z.string(),
  endEntityCommonName: nullable(z.string()),
  certRequestStatus: status,
  approvals: Long,
  requiredApprovals: Long,
  metadata: Metadata,
})

export const GetPendingCertReqResponseDtoPage = pageDto(
  'GetPendingCertReqResponseDtoPage',
  GetPendingCertReqResponseDto,
)

export const CertReqSearchByPkcs10 = dto('CertReqSearchByPkcs10', { pkcs10ReqBase64: Base64 })

export const ExaminePkcs10RequestRequestDto = dto('ExaminePkcs10RequestRequestDto', {
  policyId: Uuid,
  endEntityId: Uuid,
  pkcs10ReqBase64: Base64,
})

export const ExaminePkcs10RequestResponseDto = dto('ExaminePkcs10RequestResponseDto', {
  valid: z.boolean(),
  signatureValid: z.boolean(),
  subjectDn: z.string(),
  subject: z.object(subjectAnswer),
  cryptoAlgorithm: nullable(enumOf(CryptoAlgorithm, 'CryptoAlgorithm')),
  keySize: nullable(Long),
  namedCurve: nullable(z.string()),
  mismatches: z.array(
    z.object({
      property: EndEntityPropertyValue,
      expected: nullable(z.string()),
      actual: nullable(z.string()),
      message: z.string(),
    }),
  ),
  policyViolations: z.array(z.object({ apiError: ApiErrorValue, message: z.string() })),
})

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
