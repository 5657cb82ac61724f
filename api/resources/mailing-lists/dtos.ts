// The types of mailing lists (contract 6.2).
import { z } from 'zod'
import {
  ArchiveInfo,
  change,
  dto,
  MaybeText,
  Metadata,
  pageDto,
  sameAs,
  setOf,
  Text,
  Uuid,
  Version,
  withDefault,
} from '../../kernel/dto.ts'

/** Which texts are addresses is a rule of `domain`. */
const addresses = setOf(Text(), { max: 1000 })

/** A mailing list. */
export const GetMailingListResponseDto = dto('GetMailingListResponseDto', {
  id: Uuid,
  name: z.string(),
  emails: z.array(z.string()),
  realmIds: z.array(Uuid),
  archiveInfo: ArchiveInfo,
  metadata: Metadata,
})

/** A page of mailing lists. */
export const GetMailingListResponseDtoPage = pageDto('GetMailingListResponseDtoPage', GetMailingListResponseDto)

/** A mailing list to be made. */
export const CreateNewMailingListRequestDto = dto('CreateNewMailingListRequestDto', {
  name: Text(),
  emails: addresses,
})

/** The mailing list that was made. */
export const CreateNewMailingListResponseDto = sameAs('CreateNewMailingListResponseDto', GetMailingListResponseDto)

/** What is to change in a mailing list. */
export const UpdateMailingListRequestDto = dto('UpdateMailingListRequestDto', {
  name: change(Text()),
  emails: change(addresses),
  version: Version,
})

/** The mailing list after its change. */
export const UpdateMailingListResponseDto = sameAs('UpdateMailingListResponseDto', GetMailingListResponseDto)

/** Which mailing lists are looked for. */
export const MailingListSearchRequestDto = dto('MailingListSearchRequestDto', {
  simpleSearchTerm: MaybeText(),
  archived: withDefault(z.boolean(), false),
})
