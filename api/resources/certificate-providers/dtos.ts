// The types of certificate providers and of their templates (contract 6.3, 10.1, 10.2).
import { z } from 'zod'
import { CertificateProviderType, ConnectionStatus } from '../../../domain/enums.ts'
import {
  ArchiveInfo,
  change,
  Document,
  dto,
  enumOf,
  filterOf,
  Int,
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
  Version,
  withDefault,
} from '../../kernel/dto.ts'

const providerType = enumOf(CertificateProviderType, 'CertificateProviderType')
const configuration = Document(1_000_000)

/** A certificate provider; its configuration is shown without secrets. */
export const GetCertificateProviderResponseDto = dto('GetCertificateProviderResponseDto', {
  id: Uuid,
  name: z.string(),
  certificateProviderType: providerType,
  configuration: z.string(),
  connectionStatus: enumOf(ConnectionStatus),
  lastCheckedDate: nullable(Timestamp),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})

/** A page of certificate providers. */
export const GetCertificateProviderResponseDtoPage = pageDto(
  'GetCertificateProviderResponseDtoPage',
  GetCertificateProviderResponseDto,
)

/** What the makers of policies see of a certificate provider. */
export const GetCertificateProviderMinimalResponseDto = dto('GetCertificateProviderMinimalResponseDto', {
  id: Uuid,
  name: z.string(),
  certificateProviderType: providerType,
})

/** A page of what the makers of policies see. */
export const GetCertificateProviderMinimalResponseDtoPage = pageDto(
  'GetCertificateProviderMinimalResponseDtoPage',
  GetCertificateProviderMinimalResponseDto,
)

/** A certificate provider to be made. */
export const CreateCertificateProviderRequestDto = dto('CreateCertificateProviderRequestDto', {
  name: Text(),
  certificateProviderType: providerType,
  configuration,
})

/** The certificate provider that was made. */
export const CreateCertificateProviderResponseDto = sameAs(
  'CreateCertificateProviderResponseDto',
  GetCertificateProviderResponseDto,
)

/** What is to change in a certificate provider. */
export const UpdateCertificateProviderRequestDto = dto('UpdateCertificateProviderRequestDto', {
  name: change(Text()),
  configuration: change(configuration),
  version: Version,
})

/** The certificate provider after its change. */
export const UpdateCertificateProviderResponseDto = sameAs(
  'UpdateCertificateProviderResponseDto',
  GetCertificateProviderResponseDto,
)

/** Which certificate providers are looked for. */
export const CertificateProviderSearchRequestDto = dto('CertificateProviderSearchRequestDto', {
  simpleSearchTerm: MaybeText(),
  certificateProviderTypes: filterOf(providerType),
  archived: withDefault(z.boolean(), false),
})

/** The rollover of a certificate provider that is asked for. */
export const RolloverRequestDto = dto('RolloverRequestDto', {
  configuration: withDefault(configuration, '{}'),
  newRoot: withDefault(z.boolean(), false),
  takeOverDate: maybe(Timestamp),
  version: Int(),
})

/** Which CA issues for a certificate provider, and which one takes over from it. */
export const RolloverDto = dto('RolloverDto', {
  certificateProviderId: Uuid,
  issuingCaId: nullable(Uuid),
  nextIssuingCaId: nullable(Uuid),
  takeOverDate: nullable(Timestamp),
  version: Int(),
})

/** What came of trying the connection. */
export const CheckCertificateProviderConnectionDto = dto('CheckCertificateProviderConnectionDto', {
  result: z.boolean(),
  errorMessage: nullable(z.string()),
  durationMs: Long,
})

const CaTemplateSignerDto = dto('CaTemplateSignerDto', {
  id: Long,
  name: z.string(),
  caSubjectDn: nullable(z.string()),
})

/** The template signers of a certificate provider. */
export const CaTemplateSignerDtoList = dto('CaTemplateSignerDtoList', {
  caTemplateSignerList: z.array(CaTemplateSignerDto),
})

/** The templates of a directory CA. */
export const MscaTemplatesResponseDto = dto('MscaTemplatesResponseDto', {
  templates: z.array(z.object({ name: z.string(), displayName: nullable(z.string()), oid: nullable(z.string()) })),
})
