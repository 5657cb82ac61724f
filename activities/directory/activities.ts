// What the workflows of API clients ask of the identity provider, and what they record.
import { Failure } from '../../domain/failure.ts'
import { takeKeyedLocks } from '../../storage/lock.ts'
import { clientSecretUse } from '../../storage/key-uses.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import type { Services } from '../services.ts'
import { noSuchClient } from './trouble.ts'
import { tellingUntouched } from './untouched.ts'

/** A client as both sides know it. */
export interface ClientInput {
  readonly apiClientId: string
  readonly providerId: string
}

interface WithSecret extends ClientInput {
  /** Sealed for this client, Base64. */
  readonly sealedSecret: string
}

const useOf = ({ apiClientId: id, providerId }: ClientInput) => clientSecretUse({ id, providerId })

const unsealed = ({ seal }: Services, input: WithSecret): string =>
  seal.unseal(Buffer.from(input.sealedSecret, 'base64'), useOf(input)).toString()

/** The client that we ask as is none that can be asked for. */
const mustBeOther = ({ directory }: Services, { providerId }: ClientInput): void => {
  if (providerId === directory.ownClientId)
    throw new Failure('SYSTEM_ENTITY_PROTECTED', 'The worker itself needs this client of the identity provider.')
}

const asking = async <T>(services: Services, input: ClientInput, ask: () => Promise<T>): Promise<T> => {
  mustBeOther(services, input)
  return tellingUntouched(ask)
}

const change = async (services: Services, input: ClientInput, members: { name?: string; enabled?: boolean }) => {
  if (!(await services.directory.change(input.providerId, members))) throw noSuchClient(input.providerId)
}

/** The record, when every transaction that was to write it has ended. */
const recordOf = ({ orm }: Services, id: string): Promise<ApiClient | null> =>
  orm.em.fork().transactional(async em => {
    await takeKeyedLocks(em, 'API_CLIENT', [id])
    return em.findOne(ApiClient, id)
  })

/** As `asking`, for a client that is there: one that was deleted while its caller stood in line is none of the provider's faults. */
const askingOfKnown = <T>(services: Services, input: ClientInput, ask: () => Promise<T>): Promise<T> =>
  asking(services, input, () =>
    ask().catch(async (error: unknown) => {
      throw (await recordOf(services, input.apiClientId)) ? error : new Failure('API_CLIENT_NOT_FOUND')
    }),
  )

/** Writing while somebody waits. */
export const directoryActivities = (services: Services) => ({
  /** Idempotency key: the client id; what an earlier attempt made is completed with the same secret. */
  makeDirectoryClient: (input: WithSecret & { readonly name: string }): Promise<void> =>
    asking(services, input, () => services.directory.make({ ...input, secret: unsealed(services, input) })),
  /** Idempotency key: the client; the members are set to the same values. */
  changeDirectoryClient: ({
    name,
    enabled,
    ...input
  }: ClientInput & { readonly name?: string; readonly enabled?: boolean }): Promise<void> =>
    askingOfKnown(services, input, () =>
      change(services, input, { ...(name !== undefined && { name }), ...(enabled !== undefined && { enabled }) }),
    ),
  /** Changes nothing; the secret is answered sealed. */
  readDirectorySecret: (input: ClientInput): Promise<string> =>
    askingOfKnown(services, input, async () => {
      const secret = Buffer.from(await services.directory.secretOf(input.providerId))
      return services.seal.seal(secret, useOf(input)).toString('base64')
    }),
  /** Idempotency key: the client; the secret is set to the same value. */
  setDirectorySecret: (input: WithSecret): Promise<void> =>
    askingOfKnown(services, input, () => services.directory.setSecret(input.providerId, unsealed(services, input))),
  /** Idempotency key: the client. One that is not there needs no closing. */
  closeDirectoryClient: (input: ClientInput): Promise<void> =>
    asking(services, input, async () => {
      await services.directory.change(input.providerId, { enabled: false })
    }),
})

/** Undoing and ending, for as long as it takes. */
export const directoryRepairs = (services: Services) => ({
  /** Idempotency key: the client; it becomes what its record says, and goes without one. Answers whether there is one. */
  alignDirectoryClient: async ({ apiClientId, providerId }: ClientInput): Promise<boolean> => {
    const record = await recordOf(services, apiClientId)
    if (record) await services.directory.change(providerId, { name: record.name, enabled: record.enabled })
    else await services.directory.remove(providerId)
    return record !== null
  },
  /** Idempotency key: the client; a reset that is recorded stays. Answers whether it is. */
  restoreDirectorySecret: async (input: WithSecret & { readonly resetId: string }): Promise<boolean> => {
    const record = await recordOf(services, input.apiClientId)
    const isRecorded = record?.secretResetId === input.resetId
    if (record && !isRecorded) await services.directory.setSecret(input.providerId, unsealed(services, input))
    return isRecorded
  },
  /** Idempotency key: the client. */
  removeDirectoryClient: ({ providerId }: ClientInput): Promise<void> => services.directory.remove(providerId),
})
