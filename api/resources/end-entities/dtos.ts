// The types of end entities (contract 6.6).
import { z } from 'zod'
import { challengeMinutes } from '../../../domain/password-rules.ts'
import {
  ArchiveInfo,
  Base64,
  Base64Of,
  dto,
  exactlyOne,
  idsOf,
  Int,
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
  Version,
  withDefault,
  Table,
} from '../../kernel/dto.ts'
import { ApiErrorValue, subjectAnswer, subjectFields } from '../../kernel/shared-dtos.ts'

/** An end entity. */
export const GetEndEntityResponseDto = dto('GetEndEntityResponseDto', {
  id: Uuid,
  realmId: Uuid,
  alias: nullable(z.string()),
  ...subjectAnswer,
  userId: nullable(Uuid),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})

/** A page of end entities. */
export const GetEndEntityResponseDtoPage = pageDto('GetEndEntityResponseDtoPage', GetEndEntityResponseDto)

/** An end entity to be made. */
export const CreateEndEntityRequestDto = dto('CreateEndEntityRequestDto', { realmId: Uuid, ...subjectFields })

/** The end entity that was made. */
export const CreateEndEntityResponseDto = sameAs('CreateEndEntityResponseDto', GetEndEntityResponseDto)

/** Which end entities are looked for. */
export const EndEntitySearchRequestDto = dto('EndEntitySearchRequestDto', {
  realmId: Uuid,
  simpleSearchTerm: MaybeText(),
  endEntityIds: maybe(idsOf()),
  policyId: maybe(Uuid),
  withoutPasswordForPolicyId: maybe(Uuid),
  archived: withDefault(z.boolean(), false),
})

/** The alias that an end entity is to have. */
export const SetEndEntityAliasRequestDto = dto('SetEndEntityAliasRequestDto', { alias: Text(), version: Version })

/** The subject data that an end entity is looked up by. */
export const EndEntityDatasetRequestDto = dto('EndEntityDatasetRequestDto', subjectFields)

/** The certificate that its end entity is looked up by. */
export const FindEeByCertBytesRequestDto = dto('FindEeByCertBytesRequestDto', { certBytes: Base64Of('CERTIFICATE') })

/** A CSV table of end entities, as text or as bytes. */
export const EndEntitiesCsvDto = exactlyOne('EndEntitiesCsvDto', ['csv', 'csvBase64'], {
  realmId: Uuid,
  csv: maybe(Table()),
  csvBase64: maybe(Base64),
  policyId: maybe(Uuid),
})

/** The policy that a challenge is for, and how long it serves. */
export const CreateScepChallengeRequestDto = dto('CreateScepChallengeRequestDto', {
  policyId: Uuid,
  validMinutes: maybe(Int(...challengeMinutes)),
})

/** A one-time challenge: told here and nowhere else. */
export const ScepChallengeDto = dto('ScepChallengeDto', {
  challenge: z.string(),
  endEntityId: Uuid,
  policyId: Uuid,
  expiresDate: Timestamp,
})

/** The end entities that a table made, and the rows that are at fault. */
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
