// The types of end entity passwords (contract 6.6).
import { z } from 'zod'
import {
  dto,
  exactlyOne,
  idsOf,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  Text,
  Timestamp,
  Uuid,
} from '../../kernel/dto.ts'

/** The end entities that get one and the same password for a policy. */
export const CreateEndEntityPasswordRequestDto = exactlyOne(
  'CreateEndEntityPasswordRequestDto',
  ['endEntityIds', 'endEntityId'],
  { endEntityIds: maybe(idsOf()), endEntityId: maybe(Uuid), policyId: Uuid },
)

/** The password that was made: told here and nowhere else. */
export const CreateEndEntityPasswordResponseDto = dto('CreateEndEntityPasswordResponseDto', {
  policyId: Uuid,
  endEntityIds: z.array(Uuid),
  password: z.string(),
  metadata: Metadata,
})

/** The password that is meant. */
export const EndEntityPasswordRequestDto = dto('EndEntityPasswordRequestDto', { endEntityId: Uuid, policyId: Uuid })

/** The password that replaces the one before: told here and nowhere else. */
export const ResetEndEntityPasswordResponseDto = dto('ResetEndEntityPasswordResponseDto', {
  endEntityId: Uuid,
  policyId: Uuid,
  password: z.string(),
  metadata: Metadata,
})

/** That there is a password, never which. */
export const GetEndEntityPasswordResponseDto = dto('GetEndEntityPasswordResponseDto', {
  id: Uuid,
  endEntityId: Uuid,
  policyId: Uuid,
  endEntityCommonName: nullable(z.string()),
  policyName: z.string(),
  lastUsedDate: nullable(Timestamp),
  metadata: Metadata,
})

/** A page of passwords. */
export const GetEndEntityPasswordResponseDtoPage = pageDto(
  'GetEndEntityPasswordResponseDtoPage',
  GetEndEntityPasswordResponseDto,
)

/** A password, or the secret of a SCEP challenge, as somebody claims it. */
export const EndEntityAuthenticationRequestDto = dto('EndEntityAuthenticationRequestDto', {
  endEntityId: Uuid,
  policyId: Uuid,
  password: Text(),
  transaction: MaybeText(128),
})

/** Whether the claim is right; the same for whatever is wrong with it. */
export const EndEntityAuthenticationResponseDto = dto('EndEntityAuthenticationResponseDto', {
  authenticated: z.boolean(),
  endEntityId: nullable(Uuid),
  policyId: nullable(Uuid),
  /** Told of a one-time challenge alone: all other answers are as those without challenges. */
  challengeSpentDate: Timestamp.optional(),
})
