// The types of RA certificates (contract 6.7).
import { z } from 'zod'
import { CertRequestStatus, CertStatus, RevocationReason } from '../../../domain/enums.ts'
import { Base64, dto, enumOf, idsOf, listOf, maybe, nullable, Timestamp, Uuid, withDefault } from '../../kernel/dto.ts'
import { ApiErrorValue, KeyGenParamsDto } from '../../kernel/shared-dtos.ts'
import { CreateCertReqRequestDto } from '../cert-requests/dtos.ts'
import { GetCertificateResponseDto } from '../certificates/dtos.ts'

const asked = CreateCertReqRequestDto.shape

/** The RA certificate of a user. */
export const GetRaCertificateResponseDto = dto('GetRaCertificateResponseDto', {
  ...GetCertificateResponseDto.shape,
  userId: Uuid,
})

/** The RA certificate that a user is to get. */
export const CreateSingleRaCertRequestDto = dto('CreateSingleRaCertRequestDto', {
  policyId: maybe(Uuid),
  validFor: asked.validFor,
  keyPairMode: asked.keyPairMode,
  keyGenParamsDto: asked.keyGenParamsDto,
  pkcs10ReqBase64: asked.pkcs10ReqBase64,
  publicKeyBase64: asked.publicKeyBase64,
  revokePrevious: withDefault(z.boolean(), false),
})

/** The request of an RA certificate, and the certificate where nobody has to decide first. */
export const UpdateUserRaCertificateDto = dto('UpdateUserRaCertificateDto', {
  userId: Uuid,
  certRequestId: Uuid,
  certRequestStatus: enumOf(CertRequestStatus, 'CertRequestStatus'),
  certificateId: nullable(Uuid),
  raCertificate: nullable(GetRaCertificateResponseDto),
})

/** The RA certificates that users are to get, with keys that the service makes. */
export const CreateRaCertBatchRequestDto = dto('CreateRaCertBatchRequestDto', {
  userIds: idsOf(1000),
  policyId: maybe(Uuid),
  validFor: asked.validFor,
  keyGenParamsDto: KeyGenParamsDto,
})

const BatchCertificateCreationErrorResponseDto = dto('BatchCertificateCreationErrorResponseDto', {
  failedUserId: Uuid,
  apiError: ApiErrorValue,
})

/** The keystores of users and their passwords in one zip, and why some have none. */
export const ZippedCertsBatchDto = dto('ZippedCertsBatchDto', {
  fileName: z.string(),
  zippedBytes: Base64,
  errors: listOf(BatchCertificateCreationErrorResponseDto),
})

/** The RA certificate of a user, or its chain, as a PEM file. */
export const RaCertificatePemDto = dto('RaCertificatePemDto', {
  id: Uuid,
  fileName: z.string(),
  pemCertificate: z.string(),
})

/** The RA certificate of a user after its revocation. */
export const RevokeRaCertificateResponseDto = dto('RevokeRaCertificateResponseDto', {
  userId: Uuid,
  certificateId: Uuid,
  certStatus: enumOf(CertStatus, 'CertStatus'),
  revocationReason: nullable(enumOf(RevocationReason, 'RevocationReason')),
  revocationDate: nullable(Timestamp),
})
