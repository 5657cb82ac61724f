// The types of realms (contract 6.6).
import { z } from 'zod'
import {
  ArchiveInfo,
  change,
  clearable,
  dto,
  maybe,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  Text,
  Uuid,
  Version,
} from '../../kernel/dto.ts'

/** A realm. */
export const GetRealmResponseDto = dto('GetRealmResponseDto', {
  id: Uuid,
  name: z.string(),
  mailingListId: nullable(Uuid),
  systemRealm: z.boolean(),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})

/** A page of realms. */
export const GetRealmResponseDtoPage = pageDto('GetRealmResponseDtoPage', GetRealmResponseDto)

/** A realm to be made. */
export const CreateRealmRequestDto = dto('CreateRealmRequestDto', { name: Text(), mailingListId: maybe(Uuid) })

/** The realm that was made. */
export const CreateRealmResponseDto = sameAs('CreateRealmResponseDto', GetRealmResponseDto)

/** What is to change in a realm. */
export const UpdateRealmRequestDto = dto('UpdateRealmRequestDto', {
  name: change(Text()),
  mailingListId: clearable(Uuid),
  version: Version,
})

/** The realm after its change. */
export const UpdateRealmResponseDto = sameAs('UpdateRealmResponseDto', GetRealmResponseDto)

/** A user as people know one. */
export const MinimalUserDetailsDto = dto('MinimalUserDetailsDto', {
  id: Uuid,
  firstName: nullable(z.string()),
  lastName: nullable(z.string()),
  email: nullable(z.string()),
})

/** A page of such users. */
export const MinimalUserDetailsDtoPage = pageDto('MinimalUserDetailsDtoPage', MinimalUserDetailsDto)
