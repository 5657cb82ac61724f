// What is recorded of API clients once the identity provider has done its part.
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../domain/failure.ts'
import type { Principal } from '../../domain/principal.ts'
import {
  applyChange,
  assignmentAfter,
  changesNothing,
  judgeAssignment,
  mustBeDeletable,
  mustBeFree,
  mustLeaveAdmin,
  noteSecretReset,
  removeClient,
  storeClient,
  type Must,
} from '../../storage/api-clients.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import type { ClientDeletion, ClientUpdate, NewApiClient, SecretReset } from '../../workflows/api-clients.ts'
import type { Services } from '../services.ts'
import { writing as writingOf } from './writing.ts'

interface Written {
  readonly em: EntityManager
  /** The record; null when there is none. */
  readonly client: ApiClient | null
  readonly must: Must
}

/** Writes as the principal, while no other transaction writes of the same client. */
const writing = <T>(
  services: Services,
  { apiClientId: id, principal }: { readonly apiClientId: string; readonly principal: Principal },
  write: (written: Written) => Promise<T>,
): Promise<T> =>
  writingOf(services, { kind: 'API_CLIENT', id, principal }, async (em, must) =>
    write({ em, client: await em.findOne(ApiClient, id), must }),
  )

const store = async ({ em, client, must }: Written, order: NewApiClient): Promise<void> => {
  if (client) return
  const { apiClientId: id, providerId, name, realmIds, defaultPolicyId } = order
  await must('CREATE_API_CLIENT', [{}])
  await judgeAssignment(em, { before: { realmIds: [] }, after: { realmIds, defaultPolicyId } }, must)
  await mustBeFree(em, name)
  await storeClient(em, { id, providerId, name, realmIds, defaultPolicyId })
}

const mustBeThere = (client: ApiClient | null): ApiClient => {
  if (!client) throw new Failure('API_CLIENT_NOT_FOUND')
  return client
}

const update = async ({ em, client: found, must }: Written, order: ClientUpdate): Promise<void> => {
  const client = mustBeThere(found)
  const { name, enabled, realmIds, defaultPolicyId, version } = order
  const change = { name, enabled, realmIds, defaultPolicyId }
  // Also what an earlier attempt has recorded.
  if (changesNothing(client, change)) return
  if (version !== undefined && version !== client.version) throw new Failure('VERSION_CONFLICT')
  await must('UPDATE_API_CLIENT', [{ PRINCIPAL: client.id }])
  await judgeAssignment(em, { before: client, after: assignmentAfter(client, change) }, must)
  if (name !== undefined) await mustBeFree(em, name, client.id)
  if (enabled === false) await mustLeaveAdmin(em, client.id)
  await applyChange(em, client, change)
}

type RecordedReset = Omit<SecretReset, 'sealedSecret'>

const noteReset = async ({ em, client: found, must }: Written, { resetId }: RecordedReset): Promise<void> => {
  const client = mustBeThere(found)
  if (client.secretResetId === resetId) return
  await must('RESET_API_CLIENT', [{ PRINCIPAL: client.id }])
  await noteSecretReset(em, client, resetId)
}

const remove = async ({ em, client, must }: Written, version: number, now: Date): Promise<void> => {
  if (!client) return
  if (version !== client.version) throw new Failure('VERSION_CONFLICT')
  await must('DELETE_API_CLIENT', [{ PRINCIPAL: client.id }])
  await mustBeDeletable(em, client)
  await removeClient(em, client, now)
}

/** Recording while somebody waits. */
export const directoryCommits = (services: Services) => ({
  /** Idempotency key: the client, which is stored once. */
  recordNewClient: (order: NewApiClient): Promise<void> => writing(services, order, written => store(written, order)),
  /** Idempotency: a client that is as it is wanted is not changed again. */
  recordClientUpdate: (order: ClientUpdate): Promise<void> =>
    writing(services, order, written => update(written, order)),
  /** Idempotency key: the reset. */
  recordSecretReset: (order: RecordedReset): Promise<void> =>
    writing(services, order, written => noteReset(written, order)),
  /** Idempotency key: the client, which is gone after the first time. */
  recordClientDeletion: (order: ClientDeletion): Promise<void> =>
    writing(services, order, written => remove(written, order.version, services.clock())),
})
