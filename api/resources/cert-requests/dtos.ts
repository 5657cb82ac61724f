// The types of certificate requests (contract 6.4).
import { z } from 'zod'
import { CertRequestStatus, CryptoAlgorithm, KeyPairMode, ValidFor } from '../../../domain/enums.ts'
import {
  ArchiveInfo,
  Base64,
  Base64Of,
  dto,
  enumOf,
  filterOf,
  idsOf,
  listOf,
  Long,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  Text,
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

/** A certificate request to be made. */
export const CreateCertReqRequestDto = dto('CreateCertReqRequestDto', {
  policyId: Uuid,
  endEntityId: Uuid,
  validFor,
  keyPairMode,
  keyGenParamsDto: maybe(KeyGenParamsDto),
  pkcs10ReqBase64: maybe(Base64Of('CERTIFICATE REQUEST')),
  publicKeyBase64: maybe(Base64Of('PUBLIC KEY')),
  reference: MaybeText(128),
  idempotencyKey: MaybeText(128),
})

/** A certificate request to be made, as the handler gets it. */
export type CreateCertReqRequest = z.output<typeof CreateCertReqRequestDto>

/** A certificate request. */
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
  reference: nullable(z.string()),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})

/** The certificate request that was made. */
export const CreateCertReqResponseDto = sameAs('CreateCertReqResponseDto', GetCertReqResponseDto)

/** A page of certificate requests. */
export const GetCertReqResponseDtoPage = pageDto('GetCertReqResponseDtoPage', GetCertReqResponseDto)

/** Which certificate requests are looked for. */
export const CertReqSearchRequestDto = dto('CertReqSearchRequestDto', {
  realmId: Uuid,
  simpleSearchTerm: MaybeText(),
  policyId: maybe(Uuid),
  endEntityId: maybe(Uuid),
  certRequestIds: maybe(idsOf()),
  certRequestStatuses: filterOf(status),
  createdBy: maybe(Uuid),
  reference: MaybeText(128),
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

/** A page of the certificate requests that wait for a person. */
export const GetPendingCertReqResponseDtoPage = pageDto(
  'GetPendingCertReqResponseDtoPage',
  GetPendingCertReqResponseDto,
)

/** The PKCS#10 request that a certificate request is looked up by. */
export const CertReqSearchByPkcs10 = dto('CertReqSearchByPkcs10', { pkcs10ReqBase64: Base64Of('CERTIFICATE REQUEST') })

/** A PKCS#10 request to be examined, and whom and under which policy it would be for. */
export const ExaminePkcs10RequestRequestDto = dto('ExaminePkcs10RequestRequestDto', {
  policyId: Uuid,
  endEntityId: Uuid,
  pkcs10ReqBase64: Base64Of('CERTIFICATE REQUEST'),
})

/** What a PKCS#10 request says, and what stands against a certificate for it. */
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
      property: nullable(EndEntityPropertyValue),
      expected: nullable(z.string()),
      actual: nullable(z.string()),
      message: z.string(),
    }),
  ),
  policyViolations: z.array(z.object({ apiError: ApiErrorValue, message: z.string() })),
})

/** Certificate requests to be made, one for each end entity. */
export const CreateMultipleCertReqRequestDto = dto('CreateMultipleCertReqRequestDto', {
  policyId: Uuid,
  endEntityIds: idsOf(),
  validFor,
  keyPairMode: withDefault(z.literal('SERVER_GEN'), 'SERVER_GEN'),
  keyGenParamsDto: KeyGenParamsDto,
})

/** The certificate requests that were made, and why others were not. */
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

/** A certificate request after its approval. */
export const ApproveCertReqResponseDto = dto('ApproveCertReqResponseDto', decisionFields)

/** A certificate request after it was declined. */
export const DeclineCertReqResponseDto = dto('DeclineCertReqResponseDto', decisionFields)

/** The address that a verification mail is to go to again. */
export const EmailDto = dto('EmailDto', { email: Text(254) })

/** The token of a verification mail. */
export const VerifyTokenRequestDto = dto('VerifyTokenRequestDto', { token: Text() })

/** A certificate request after the address of its end entity was proven. */
export const EmailVerifiedCertReqResponseDto = dto('EmailVerifiedCertReqResponseDto', {
  id: Uuid,
  certRequestStatus: status,
  email: z.string(),
  certificateId: nullable(Uuid),
  emailVerifiedDate: Timestamp,
})
