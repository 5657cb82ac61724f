// The types of certificates and orders (contract 6.5).
import { z } from 'zod'
import { AuditEventType } from '../../../domain/audit.ts'
import {
  CertificateSearchKey,
  CertRequestStatus,
  CertStatus,
  CryptoAlgorithm,
  OrderStatus,
  RevocationReason,
} from '../../../domain/enums.ts'
import { DerError } from '../../../pki/asn1/der-reader.ts'
import { parseName } from '../../../pki/names/name.ts'
import { longestText } from '../../../pki/pem.ts'
import {
  ArchiveInfo,
  Base64,
  Base64Within,
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
  Text,
  Timestamp,
  Uuid,
  withDefault,
} from '../../kernel/dto.ts'
import { ApiErrorValue, BatchItemError, SubjectAlternativeNameDto } from '../../kernel/shared-dtos.ts'

const certStatus = enumOf(CertStatus, 'CertStatus')
const requestStatus = enumOf(CertRequestStatus, 'CertRequestStatus')
const orderStatus = enumOf(OrderStatus, 'OrderStatus')

const certificateFields = {
  id: Uuid,
  endEntityId: Uuid,
  policyId: Uuid,
  serialNumber: z.string(),
  subjectDn: z.string(),
  subjectCommonName: nullable(z.string()),
  issuerDn: z.string(),
  issuerCommonName: nullable(z.string()),
  validNotBefore: Timestamp,
  validNotAfter: Timestamp,
  certStatus,
  certPublicKeyAlgorithm: enumOf(CryptoAlgorithm, 'CryptoAlgorithm'),
  fingerprint: z.string(),
  certRequestId: Uuid,
  metadata: Metadata,
}

/** A certificate in short. */
export const CertificateDto = dto('CertificateDto', certificateFields)

/** A certificate. */
export const GetCertificateResponseDto = dto('GetCertificateResponseDto', {
  ...certificateFields,
  realmId: Uuid,
  policyName: z.string(),
  endEntityCommonName: nullable(z.string()),
  endEntityAlias: nullable(z.string()),
  certPublicKeySize: nullable(z.int()),
  namedCurve: nullable(z.string()),
  signatureAlgorithm: z.string(),
  subjectAlternativeNames: z.array(SubjectAlternativeNameDto),
  keyUsages: z.array(z.string()),
  extendedKeyUsages: z.array(z.string()),
  issuerCaId: nullable(Uuid),
  revocationReason: nullable(enumOf(RevocationReason, 'RevocationReason')),
  revocationDate: nullable(Timestamp),
  revocationRequestedDate: nullable(Timestamp),
  revocationCrlNumber: nullable(Long),
  imported: z.boolean(),
  selfSigned: z.boolean(),
  hasPrivateKey: z.boolean(),
  crlDistributionPoints: z.array(z.string()),
  ocspUrls: z.array(z.string()),
  archiveInfo: ArchiveInfo,
})

/** A page of certificates. */
export const GetCertificateResponseDtoPage = pageDto('GetCertificateResponseDtoPage', GetCertificateResponseDto)

/** A certificate or a chain as a PEM file. */
export const CertificatePemDto = dto('CertificatePemDto', {
  id: Uuid,
  fileName: z.string(),
  pemCertificate: z.string(),
})

/** The private key of a certificate as a PEM file (PKCS#8). */
export const CertificatePrivateKeyPemDto = dto('CertificatePrivateKeyPemDto', {
  id: Uuid,
  fileName: z.string(),
  pemPrivateKey: z.string(),
})

/** Key, certificate and chain as a PKCS#12 file, and its password. */
export const KeystoreFileDto = dto('KeystoreFileDto', {
  id: Uuid,
  fileName: z.string(),
  keystore: Base64,
  password: z.string(),
})

/** A chain of CAs, issuing CA first. */
export const CaCertificatePemDto = dto('CaCertificatePemDto', { pemCertificate: z.string() })

/** A zip file. */
export const ZippedFileDto = dto('ZippedFileDto', { fileName: z.string(), zippedBytes: Base64 })

/** The certificate that was issued, as a record, alone and with its chain. */
export const CreateCertificateResponseDto = dto('CreateCertificateResponseDto', {
  certificate: CertificateDto,
  certificatePem: CertificatePemDto,
  certificateChainPem: CertificatePemDto,
  certRequestStatus: requestStatus,
})

/** The certificates that were issued, and why others were not. */
export const CreateMultipleCertificateFromCertRequestsResponseDto = dto(
  'CreateMultipleCertificateFromCertRequestsResponseDto',
  { certificates: listOf(CertificateDto), errors: listOf(BatchItemError), zippedFile: nullable(ZippedFileDto) },
)

/** The body of multiple orders: a JSON array of certificate request ids. */
export const CertRequestIds = (max: number) => idsOf(max)

/** The order of one certificate. */
export const OrderCertificateResponseDto = dto('OrderCertificateResponseDto', {
  orderId: z.string(),
  certRequestId: Uuid,
  certRequestStatus: requestStatus,
  certificateId: nullable(Uuid),
})

/** The order of several certificates, and why others were not ordered. */
export const OrderMultipleCertificatesResponseDto = dto('OrderMultipleCertificatesResponseDto', {
  orderId: z.string(),
  accepted: listOf(Uuid),
  errors: listOf(BatchItemError),
})

const failure = nullable(z.object({ apiError: ApiErrorValue, errorMessage: z.string() }))

/** How an order stands. */
export const OrderStatusDto = dto('OrderStatusDto', {
  orderId: z.string(),
  status: orderStatus,
  certRequestId: nullable(Uuid),
  certificateId: nullable(Uuid),
  certRequestStatus: nullable(requestStatus),
  failure,
  total: Long,
  issued: Long,
  failed: Long,
  waiting: Long,
  startedDate: Timestamp,
  closedDate: nullable(Timestamp),
  zippedFile: nullable(ZippedFileDto),
})

/** How one item of an order stands. */
export const OrderItemDto = dto('OrderItemDto', {
  certRequestId: Uuid,
  status: orderStatus,
  certRequestStatus: requestStatus,
  certificateId: nullable(Uuid),
  failure,
})

/** A page of the items of an order. */
export const OrderItemDtoPage = pageDto('OrderItemDtoPage', OrderItemDto)

/** One recorded fact. */
export const AuditEventDto = dto('AuditEventDto', {
  objectId: Uuid,
  eventType: enumOf(AuditEventType, 'AuditEventType'),
  eventDescription: z.string(),
  occurredDate: Timestamp,
})

/** Audit events, newest first. */
export const GetAuditEventResponseDtoList = dto('GetAuditEventResponseDtoList', {
  auditEventList: listOf(AuditEventDto),
})

/** Which certificates are looked for. */
export const CertificateSearchRequestDto = dto('CertificateSearchRequestDto', {
  realmId: maybe(Uuid),
  simpleSearchTerm: MaybeText(),
  certificateIds: maybe(idsOf()),
  policyId: maybe(Uuid),
  endEntityId: maybe(Uuid),
  certStatuses: filterOf(certStatus),
  validNotBeforeStart: maybe(Timestamp),
  validNotBeforeEnd: maybe(Timestamp),
  validNotAfterStart: maybe(Timestamp),
  validNotAfterEnd: maybe(Timestamp),
  searchFilters: maybe(
    listOf(z.object({ key: enumOf(CertificateSearchKey, 'CertificateSearchKey'), value: Text(1000) }), {
      min: 1,
      max: 100,
    }),
  ),
  archived: withDefault(z.boolean(), false),
})

/** Far more than the digits with anything between them. */
const longestHex = 1000

const hex = (form: RegExp, error: string, bareOf: (digits: string) => string = digits => digits) =>
  z
    .codec(z.string().max(longestHex), z.string().regex(form, { error }), {
      decode: text => bareOf(text.toLowerCase().replace(/[\s:]/g, '')),
      encode: digits => digits,
    })
    .meta({ pattern: '^[0-9A-Fa-f:\\s]+$', minLength: 1 })

/** A SHA-256 fingerprint: case, colons and spaces do not count (contract 1.1). */
export const Fingerprint = hex(/^[0-9a-f]{64}$/, 'must be a SHA-256 fingerprint: 64 hexadecimal digits')

/** A serial number: case, colons, spaces and leading zeros do not count (contract 1.1). */
export const SerialNumber = hex(/^[0-9a-f]{1,40}$/, 'must be a serial number: at most 40 hexadecimal digits', digits =>
  digits.replace(/^0+(.)/, '$1'),
)

const isName = (der: Uint8Array): boolean => {
  try {
    return parseName(Buffer.from(der)).length >= 0
  } catch (error) {
    if (error instanceof DerError) return false
    throw error
  }
}

/** The issuer (DER Name) and serial number that a certificate is looked up by. */
export const GetCertByIssuerDnBinAndSnDto = dto('GetCertByIssuerDnBinAndSnDto', {
  issuerDnBin: Base64Within(longestText).refine(isName, { error: 'must be a DER Name' }),
  serialNumber: SerialNumber,
})
