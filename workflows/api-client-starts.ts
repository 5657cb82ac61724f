// How the workflows of API clients are started, as starts.ts does for the others.
import type {
  createApiClient,
  ClientDeletion,
  ClientUpdate,
  deleteApiClient,
  NewApiClient,
  resetApiClientSecret,
  SecretReset,
  updateApiClient,
} from './api-clients.ts'
import { apiClientWorkflowId } from './ids.ts'
import { attributesOf } from './run-facts.ts'
import type { Start } from './starts.ts'

const ofClient = (apiClientId: string, verb: string) => ({
  id: apiClientWorkflowId(apiClientId),
  summary: `${verb} API client ${apiClientId}`,
  attributes: attributesOf({ kind: 'API_CLIENT' }),
})

/** The run that makes an API client at the identity provider and in the records. */
export const createApiClientRun = (order: NewApiClient): Start<typeof createApiClient> => ({
  ...ofClient(order.apiClientId, 'make'),
  workflow: 'createApiClient',
  args: [order],
})

/** The run that changes one at both. */
export const updateApiClientRun = (order: ClientUpdate): Start<typeof updateApiClient> => ({
  ...ofClient(order.apiClientId, 'change'),
  workflow: 'updateApiClient',
  args: [order],
})

/** The run that gives one another secret. */
export const resetApiClientSecretRun = (order: SecretReset): Start<typeof resetApiClientSecret> => ({
  ...ofClient(order.apiClientId, 'reset the secret of'),
  workflow: 'resetApiClientSecret',
  args: [order],
})

/** The run that deletes one at both. */
export const deleteApiClientRun = (order: ClientDeletion): Start<typeof deleteApiClient> => ({
  ...ofClient(order.apiClientId, 'delete'),
  workflow: 'deleteApiClient',
  args: [order],
})
