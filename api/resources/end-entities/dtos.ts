// The types of end entities (contract 6.6).
import { z } from 'zod'
import {
  ArchiveInfo,
  Base64,
  dto,
  exactlyOne,
  idsOf,
  listOf,
  Long,
  LongText,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  Text,
  Uuid,
  Version,
  withDefault,
} from '../../kernel/dto.ts'
import { ApiErrorValue, subjectAnswer, subjectFields } from '../../kernel/shared-dtos.ts'

export const GetEndEntityResponseDto = dto('GetEndEntityResponseDto', {
  id: Uuid,
  realmId: Uuid,
  alias: nullable(z.string()),
  ...subjectAnswer,
  userId: nullable(Uuid),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})
export const GetEndEntityResponseDtoPage = pageDto('GetEndEntityResponseDtoPage', GetEndEntityResponseDto)

export const CreateEndEntityRequestDto = dto('CreateEndEntityRequestDto', { realmId: Uuid, ...subjectFields })
export const CreateEndEntityResponseDto = sameAs('CreateEndEntityResponseDto', GetEndEntityResponseDto)

export const EndEntitySearchRequestDto = dto('EndEntitySearchRequestDto', {
  realmId: Uuid,
  simpleSearchTerm: MaybeText(),
  endEntityIds: maybe(idsOf()),
  policyId: maybe(Uuid),
  withoutPasswordForPolicyId: maybe(Uuid),
  archived: withDefault(z.boolean(), false),
})

export const SetEndEntityAliasRequestDto = dto('SetEndEntityAliasRequestDto', { alias: Text(), version: Version })

export const EndEntityDatasetRequestDto = dto('EndEntityDatasetRequestDto', subjectFields)
export const FindEeByCertBytesRequestDto = dto('FindEeByCertBytesRequestDto', { certBytes: Base64 })

export const EndEntitiesCsvDto = exactlyOne('EndEntitiesCsvDto', ['csv', 'csvBase64'], {
  realmId: Uuid,
  csv: maybe(LongText()),
  csvBase64: maybe(Base64),
  policyId: maybe(Uuid),
})

export const EndEntityMassImportResponseDto = dto('EndEntityMassImportResponseDto', {
  total: Long,
  imported: Long,
  endEntities: listOf(GetEndEntityResponseDto),
  errors: listOf(
    z.object({
      line: Long,
      commonName: nullable(z.string()),
      apiError: ApiErrorValue,
      errorMessage: nullable(z.string()),
    }),
  ),
})
