// API clients at the identity provider and in the records: the identity provider first, then the records; what fails at
// either side is undone as the records tell (contract 1.5). One run of a client at a time.
import type { Principal } from '../domain/principal.ts'
import { commits, directory, repairs } from './activities.ts'
import { apiClientWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'
import { carryOut, mustBeInTime, noAnswer, told } from './saga.ts'

/** Which client, as both sides know it, and who asks. */
interface ClientOrder {
  readonly apiClientId: string
  readonly providerId: string
  readonly principal: Principal
}

/** A client to be made; its secret is sealed for it, Base64. */
export interface NewApiClient extends ClientOrder {
  readonly name: string
  readonly realmIds: readonly string[]
  readonly defaultPolicyId: string | null
  readonly sealedSecret: string
}

/** What is to be otherwise; absent members stay. */
export interface ClientUpdate extends ClientOrder {
  readonly name?: string
  readonly enabled?: boolean
  readonly realmIds?: readonly string[]
  readonly defaultPolicyId?: string | null
  /** The version that the caller has seen. */
  readonly version?: number
}

/** Another secret, sealed as that of a new client; the id keeps a reset from being recorded twice. */
export interface SecretReset extends ClientOrder {
  readonly resetId: string
  readonly sealedSecret: string
}

/** A client to be deleted, in the version that the caller has seen. */
export interface ClientDeletion extends ClientOrder {
  readonly version: number
}

/** Makes a client with its secret, then its record and grants. */
export async function createApiClient(order: NewApiClient): Promise<void> {
  const { apiClientId, providerId, name, sealedSecret } = order
  mustBeRun(apiClientWorkflowId(apiClientId))
  await carryOut({
    write: () => directory.makeDirectoryClient({ apiClientId, providerId, name, sealedSecret }),
    commit: () => commits.recordNewClient(order),
    undo: () => repairs.alignDirectoryClient({ apiClientId, providerId }),
  })
}

/** Changes a client, at the identity provider where that knows of what changes. */
export async function updateApiClient(order: ClientUpdate): Promise<void> {
  const { apiClientId, providerId, name, enabled } = order
  mustBeRun(apiClientWorkflowId(apiClientId))
  const change = { ...(name !== undefined && { name }), ...(enabled !== undefined && { enabled }) }
  const isKnownThere = Object.keys(change).length > 0
  const align = async (): Promise<boolean> => {
    if (isKnownThere) await repairs.alignDirectoryClient({ apiClientId, providerId })
    return false
  }
  await carryOut({
    write: async () => {
      if (isKnownThere) await directory.changeDirectoryClient({ apiClientId, providerId, ...change })
    },
    commit: () => commits.recordClientUpdate(order),
    undo: align,
  })
}

/** Gives a client another secret; the former one counts again when that cannot be ended. */
export async function resetApiClientSecret({ sealedSecret, ...order }: SecretReset): Promise<void> {
  const { apiClientId, providerId } = order
  mustBeRun(apiClientWorkflowId(apiClientId))
  mustBeInTime()
  const former = await directory.readDirectorySecret({ apiClientId, providerId }).catch((error: unknown) => {
    throw told(error, noAnswer())
  })
  await carryOut({
    write: () => directory.setDirectorySecret({ apiClientId, providerId, sealedSecret }),
    commit: () => commits.recordSecretReset(order),
    undo: () => repairs.restoreDirectorySecret({ ...order, sealedSecret: former }),
  })
}

/** Closes a client at the identity provider, deletes its record, then the client: without a record it never comes back. */
export async function deleteApiClient(order: ClientDeletion): Promise<void> {
  const { apiClientId, providerId } = order
  mustBeRun(apiClientWorkflowId(apiClientId))
  await carryOut({
    write: () => directory.closeDirectoryClient({ apiClientId, providerId }),
    commit: () => commits.recordClientDeletion(order),
    undo: async () => !(await repairs.alignDirectoryClient({ apiClientId, providerId })),
  })
  await repairs.removeDirectoryClient({ apiClientId, providerId })
}
