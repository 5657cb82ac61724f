// What the tests of API clients share: making one, its tokens, and what the identity provider knows of it.
import { randomUUID } from 'node:crypto'
import { expect } from '@jest/globals'
import type { ApiCaller } from './api.ts'
import type { Scene, Service } from './service.ts'
import { tokenFor } from './stack.ts'

/** The path of API clients. */
export const clientsPath = '/api/v1/api-clients'

/** An API client as it was answered when it was made. */
export interface Made {
  readonly id: string
  readonly providerId: string
  readonly name: string
  readonly secret: string
}

/** Makes an API client of a scene. */
export const makeMachine = async (
  caller: ApiCaller,
  { realmId, policyId }: Scene,
  more: object = {},
): Promise<Made> => {
  const body = { name: `Robot ${randomUUID()}`, realmIds: [realmId], defaultPolicyId: policyId, ...more }
  const reply = await caller.post(clientsPath, body)
  expect([reply.status, reply.body.apiError]).toEqual([201, undefined])
  return reply.body
}

/** A token of the identity provider for a client, or its refusal there. */
export const realToken = ({ providerId }: Pick<Made, 'providerId'>, secret: string): Promise<string> =>
  tokenFor({ clientId: providerId, secret, serviceAccountId: '' })

/** Whether a secret gets a token. */
export const isAccepted = (client: Pick<Made, 'providerId'>, secret: string): Promise<boolean> =>
  realToken(client, secret).then(
    () => true,
    () => false,
  )

/** Calls the API as the client itself. */
export const asMachine = async (service: Service, made: Made): Promise<ApiCaller> =>
  service.as(await realToken(made, made.secret))
