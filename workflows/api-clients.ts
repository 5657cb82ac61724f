// API clients at the identity provider and in the records: the identity provider first, then the records; what fails at
// either side is undone as the records tell (contract 1.5). One run of a client at a time.
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow'
import type { Principal } from '../domain/principal.ts'
import { commits, directory, repairs } from './activities.ts'
import { apiClientWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'

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

/** So long after its start a run may begin to record: who has asked is told that nothing has changed soon after. */
const patienceMs = 25_000

const late = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('It took too long; nothing has changed.', 'SERVICE_UNAVAILABLE')

const mustBeInTime = (): void => {
  if (Date.now() - workflowInfo().startTime.getTime() > patienceMs) throw late()
}

interface Saga {
  /** What is written at the identity provider. */
  readonly write: () => Promise<unknown>
  /** What is recorded then. */
  readonly commit: () => Promise<unknown>
  /** Makes the identity provider as the records say, and answers whether what was to be recorded is. */
  readonly undo: () => Promise<boolean>
}

const causeOf = (error: unknown): ApplicationFailure | undefined =>
  error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : undefined

/** Whether the identity provider surely did nothing. */
const isUntouched = (error: unknown): boolean => causeOf(error)?.details?.[0] === 'UNTOUCHED'

/** What an activity was refused with, else that it had no end in time. */
const told = (error: unknown, otherwise: ApplicationFailure): unknown =>
  error instanceof ActivityFailure && !causeOf(error) && !isCancellation(error) ? otherwise : error

const noAnswer = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('The identity provider gave no answer in time.', 'IDENTITY_PROVIDER_ERROR')

const undone = async ({ undo }: Saga): Promise<boolean> => {
  setCurrentDetails('Undoes at the identity provider what could not be ended')
  const recorded = await CancellationScope.nonCancellable(undo)
  setCurrentDetails(recorded ? 'Recorded' : 'Undone')
  return recorded
}

const writeFirst = async (saga: Saga): Promise<void> => {
  mustBeInTime()
  try {
    await saga.write()
  } catch (error) {
    if (!isUntouched(error)) await undone(saga)
    throw told(error, noAnswer())
  }
}

const carryOut = async (saga: Saga): Promise<void> => {
  await writeFirst(saga)
  try {
    mustBeInTime()
    await saga.commit()
  } catch (error) {
    if (!(await undone(saga))) throw told(error, late())
  }
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
