// The types of users (contract 6.7).
import { z } from 'zod'
import { longestText } from '../../../pki/pem.ts'
import {
  dto,
  idsOf,
  listOf,
  LongText,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  Text,
  Uuid,
  withDefault,
} from '../../kernel/dto.ts'
import { GenericDto } from '../../kernel/shared-dtos.ts'

/** Far more than the rules of `domain` allow: only what is beyond it is refused for its length alone (contract 5.2). */
const somePairs = { max: 1000 }

/** What the RA certificates of a user say; what is null follows from the user. */
export const UserCertificateDetailsDto = dto('UserCertificateDetailsDto', {
  commonName: nullable(z.string()),
  organization: nullable(z.string()),
  organizationalUnit: nullable(z.string()),
  country: nullable(z.string()),
  email: nullable(z.string()),
  genericDtoList: z.array(GenericDto),
})

/** What the RA certificates of a user are to say. */
export const UpdateUserCertificateDetailsRequestDto = dto('UpdateUserCertificateDetailsRequestDto', {
  commonName: MaybeText(),
  organization: MaybeText(),
  organizationalUnit: MaybeText(),
  country: MaybeText(),
  email: MaybeText(),
  genericDtoList: nullable(listOf(GenericDto, somePairs)),
})

/** A user. */
export const UserDetailsDto = dto('UserDetailsDto', {
  id: Uuid,
  /** The subject at the identity provider. */
  providerId: z.string(),
  firstName: nullable(z.string()),
  lastName: nullable(z.string()),
  email: nullable(z.string()),
  enabled: z.boolean(),
  passwordLoginEnabled: z.boolean(),
  userCertificateDetails: nullable(UserCertificateDetailsDto),
  raCertificateId: nullable(Uuid),
  metadata: Metadata,
})

/** A page of users. */
export const UserDetailsDtoPage = pageDto('UserDetailsDtoPage', UserDetailsDto)

const longestName = 31

/** A user to be registered. */
export const CreateNewUserDetailsDto = dto('CreateNewUserDetailsDto', {
  firstName: Text(longestName),
  lastName: Text(longestName),
  email: Text(),
  enablePasswordLogin: withDefault(z.boolean(), false),
})

/** Which users are looked for. */
export const UserSearchRequestDto = dto('UserSearchRequestDto', {
  simpleSearchTerm: MaybeText(),
  hasRaCertificate: maybe(z.boolean()),
  userIds: maybe(idsOf()),
})

const mostMails = 1000

/** Users who are to get a mail. */
export const UserListDto = dto('UserListDto', { userIds: idsOf(mostMails) })

/** The RA certificate that its user is looked up by. */
export const FindUserByRaCertificateRequestDto = dto('FindUserByRaCertificateRequestDto', {
  pemCertificate: LongText(longestText),
})
