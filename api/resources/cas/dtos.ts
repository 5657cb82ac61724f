// The types of CA records (contract 6.3).
import { z } from 'zod'
import { SerialNumber } from '../certificates/dtos.ts'
import { CryptoAlgorithm, RevocationReason, valuesOf } from '../../../domain/enums.ts'
import {
  ArchiveInfo,
  change,
  ClearableText,
  dto,
  enumOf,
  idsOf,
  listOf,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  Timestamp,
  Uuid,
  Version,
  withDefault,
} from '../../kernel/dto.ts'

/** What a revocation by serial number may say: neither hold nor release, which are of certificates. */
const FinalReason = z.enum(valuesOf(RevocationReason)).exclude(['CERTIFICATE_HOLD', 'REMOVE_FROM_CRL'])

/** The positive numbers of at most 20 octets that a CA may give (RFC 5280 4.1.2.2): a list that names others is read by few. */
const mayBeGiven = (digits: string): boolean => digits !== '0' && !/^[89a-f][0-9a-f]{39}$/.test(digits)

/** A serial number to revoke. */
export const RevokeSerialNumberRequestDto = dto('RevokeSerialNumberRequestDto', {
  serialNumber: SerialNumber.refine(mayBeGiven, { error: 'must be a positive number of at most 20 octets' }),
  revocationReason: withDefault(FinalReason, 'UNSPECIFIED'),
})

/** The serial number that was revoked. */
export const RevokedSerialNumberDto = dto('RevokedSerialNumberDto', {
  caId: Uuid,
  serialNumber: z.string(),
  revocationReason: enumOf(RevocationReason, 'RevocationReason'),
  revocationDate: Timestamp,
})

/** The fields of a CA record. */
export const caFields = {
  id: Uuid,
  name: nullable(z.string()),
  filename: z.string(),
  subjectDn: z.string(),
  subjectCommonName: z.string(),
  issuerDn: z.string(),
  issuerCommonName: z.string(),
  serialNumber: z.string(),
  fingerprint: z.string(),
  validNotBefore: Timestamp,
  validNotAfter: Timestamp,
  publicKeyAlgorithm: enumOf(CryptoAlgorithm, 'CryptoAlgorithm'),
  issuerCaId: nullable(Uuid),
  root: z.boolean(),
  trusted: z.boolean(),
  certificateProviderId: nullable(Uuid),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
}

/** A CA as lists show it. */
export const SearchCaResponseDto = dto('SearchCaResponseDto', caFields)

/** A page of CAs. */
export const SearchCaResponseDtoPage = pageDto('SearchCaResponseDtoPage', SearchCaResponseDto)

/** A CA with its certificate. */
export const GetCaResponseDto = dto('GetCaResponseDto', { ...caFields, pemCertificate: z.string() })

/** The CA after its change. */
export const UpdateCaResponseDto = sameAs('UpdateCaResponseDto', GetCaResponseDto)

/** What is to change in a CA record; the certificate itself never does. */
export const UpdateCaRequestDto = dto('UpdateCaRequestDto', {
  name: ClearableText(),
  trusted: change(z.boolean()),
  version: Version,
})

/** Which CAs are looked for. */
export const CaSearchRequestDto = dto('CaSearchRequestDto', {
  simpleSearchTerm: MaybeText(),
  issuerSearch: withDefault(z.boolean(), false),
  caIds: maybe(idsOf()),
  validNotBeforeStart: maybe(Timestamp),
  validNotBeforeEnd: maybe(Timestamp),
  validNotAfterStart: maybe(Timestamp),
  validNotAfterEnd: maybe(Timestamp),
  archived: withDefault(z.boolean(), false),
})

/** The certificate of a CA as a file; without an id where it is of no record, but came with what was judged. */
export const CaCertificateDataPemDto = dto('CaCertificateDataPemDto', {
  id: nullable(Uuid),
  filename: z.string(),
  pemCertificate: z.string(),
})

/** Which trusted CAs are wanted. */
export const GetTrustedCasRequestDto = dto('GetTrustedCasRequestDto', {
  policyId: maybe(Uuid),
  caIds: maybe(idsOf()),
})

/** The CAs that are trusted now. */
export const GetTrustedCasResponseDto = dto('GetTrustedCasResponseDto', {
  trustedCas: listOf(CaCertificateDataPemDto),
})
