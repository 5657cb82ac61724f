// The types of API clients (contract 6.2).
import { z } from 'zod'
import {
  change,
  clearable,
  dto,
  idsOf,
  maybe,
  MaybeText,
  Metadata,
  nullable,
  pageDto,
  sameAs,
  Text,
  Uuid,
  Version,
} from '../../kernel/dto.ts'

const client = {
  id: Uuid,
  /** The client id at the identity provider. */
  providerId: z.string(),
  name: z.string(),
  realmIds: z.array(Uuid),
  defaultPolicyId: nullable(Uuid),
  defaultPolicyName: nullable(z.string()),
  enabled: z.boolean(),
  metadata: Metadata,
}

/** An API client. */
export const GetApiClientResponse = dto('GetApiClientResponse', client)

/** A page of API clients. */
export const GetApiClientResponseDtoPage = pageDto('GetApiClientResponseDtoPage', GetApiClientResponse)

/** An API client to be made. */
export const CreateNewApiClientRequest = dto('CreateNewApiClientRequest', {
  name: Text(),
  realmIds: idsOf(),
  defaultPolicyId: maybe(Uuid),
})

/** The API client that was made, with its secret, which is shown only here. */
export const CreateNewApiClientResponse = dto('CreateNewApiClientResponse', { ...client, secret: z.string() })

/** What is to change in an API client. */
export const UpdateApiClientRequest = dto('UpdateApiClientRequest', {
  name: change(Text()),
  realmIds: change(idsOf()),
  defaultPolicyId: clearable(Uuid),
  enabled: change(z.boolean()),
  version: Version,
})

/** The API client after its change. */
export const UpdateApiClientResponse = sameAs('UpdateApiClientResponse', GetApiClientResponse)

/** The new secret of an API client; the old one is dead. */
export const ResetApiClientSecretResponse = dto('ResetApiClientSecretResponse', {
  id: Uuid,
  providerId: z.string(),
  secret: z.string(),
})

/** Which API clients are looked for. */
export const ApiClientSearchRequestDto = dto('ApiClientSearchRequestDto', { simpleSearchTerm: MaybeText() })
