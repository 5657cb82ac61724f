// API clients: the machines that call the service (contract 6.2, 7.2). Secrets are shown once, and kept by the identity
// provider alone.
import { randomUUID } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { Failure } from '../../../domain/failure.ts'
import {
  assignmentAfter,
  changesNothing,
  judgeAssignment,
  mustBeDeletable,
  mustBeFree,
  mustLeaveAdmin,
  type ClientChange,
} from '../../../storage/api-clients.ts'
import { findApiClients } from '../../../storage/lists/api-clients.ts'
import { ApiClient } from '../../../storage/rows/api-client.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { Realm } from '../../../storage/rows/realm.ts'
import {
  createApiClientRun,
  deleteApiClientRun,
  resetApiClientSecretRun,
  updateApiClientRun,
} from '../../../workflows/api-client-starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { exampleIds } from '../../kernel/examples.ts'
import type { FurtherNeed } from '../../kernel/needs.ts'
import { from, operation } from '../../kernel/operation.ts'
import { Count } from '../../kernel/query.ts'
import {
  ApiClientSearchRequestDto,
  CreateNewApiClientRequest,
  CreateNewApiClientResponse,
  GetApiClientResponse,
  GetApiClientResponseDtoPage,
  ResetApiClientSecretResponse,
  UpdateApiClientRequest,
  UpdateApiClientResponse,
} from './dtos.ts'
import { hasRun, mustBy, newSecret, providerIdOf, unanswered } from './writing.ts'

const shown = (client: ApiClient): z.output<typeof GetApiClientResponse> => ({
  id: client.id,
  providerId: client.providerId,
  name: client.name,
  realmIds: client.realmIds,
  defaultPolicyId: client.defaultPolicyId ?? null,
  defaultPolicyName: client.defaultPolicyName ?? null,
  enabled: client.enabled,
  metadata: client.metadata,
})

const realms = from.optional(from.bodyList(Realm, 'realmIds'))
const policy = from.optional(from.body(Policy, 'defaultPolicyId'))

/** Who assigns an API client must hold what it is granted there (contract 7.2). */
const sharing: readonly FurtherNeed[] = [
  { right: 'SHARE_REALM', on: 'each realm that it is given', entity: Realm },
  { right: 'SHARE_POLICY', on: 'the default policy that it is given', entity: Policy },
]

/** What assigning may end with. */
const ofAssignment = ['ENTITY_ARCHIVED', 'REALM_MISMATCH'] as const
const ofWriting = ['SYSTEM_ENTITY_PROTECTED', 'IDENTITY_PROVIDER_ERROR'] as const

export const createNewApiClient = operation('POST /api-clients', {
  summary: 'Create an API client; its secret is shown only now',
  on: { realms, policy },
  needs: 'CREATE_API_CLIENT',
  alsoNeeds: sharing,
  body: CreateNewApiClientRequest,
  example: {
    body: { name: 'scep-branch', realmIds: [exampleIds.Realm], defaultPolicyId: exampleIds.Policy },
  },
  returns: [201, CreateNewApiClientResponse],
  fails: [409, 415, 422, 502],
  refuses: ['ALREADY_EXISTS', 'IDENTITY_PROVIDER_ERROR', ...ofAssignment],
  handle: async ({ em, caller, temporal, seal, body: { name, realmIds, defaultPolicyId } }) => {
    await judgeAssignment(em, { before: { realmIds: [] }, after: { realmIds, defaultPolicyId } }, mustBy(caller))
    await mustBeFree(em, name)
    const id = randomUUID()
    const client = { apiClientId: id, providerId: providerIdOf(name, id), name, realmIds, defaultPolicyId }
    const { secret, sealedSecret } = newSecret({ seal }, { id, providerId: client.providerId })
    const ended = await hasRun(
      { temporal },
      createApiClientRun({ ...client, sealedSecret, principal: actorOf(caller) }),
    )
    const made = await em.findOne(ApiClient, id)
    if (!made) throw ended ? new Error('An API client was not recorded.') : unanswered()
    return { ...shown(made), secret }
  },
})

const actorOf = ({ id, type, name }: Caller) => ({ id, type, name })

export const getApiClientDetails = operation('GET /api-clients/:id', {
  summary: 'Read an API client',
  on: ApiClient,
  needs: 'READ_API_CLIENT',
  returns: [200, GetApiClientResponse],
  fails: [502],
  handle: ({ target }) => shown(target),
})

export const searchApiClients = operation('POST /api-clients/search', {
  summary: 'Search API clients',
  needs: 'LIST_API_CLIENTS',
  body: ApiClientSearchRequestDto,
  example: { body: { simpleSearchTerm: 'deploy' } },
  paging: true,
  returns: [200, GetApiClientResponseDtoPage],
  fails: [415, 502],
  handle: async ({ em, page, body }) => {
    const found = await findApiClients(em, { ...body, page })
    return { ...found, content: found.content.map(shown) }
  },
})

/** Throws what a change is refused with before the identity provider hears of it. */
const judgeUpdate = async (
  em: EntityManager,
  caller: Caller,
  { target, change }: { readonly target: ApiClient; readonly change: ClientChange },
): Promise<void> => {
  await judgeAssignment(em, { before: target, after: assignmentAfter(target, change) }, mustBy(caller))
  if (change.name !== undefined) await mustBeFree(em, change.name, target.id)
  if (change.enabled === false && target.enabled) await mustLeaveAdmin(em, target.id)
}

/** The members of a change that are another value now. */
const differing = (target: ApiClient, { name, enabled, realmIds, defaultPolicyId }: ClientChange) => ({
  ...(name !== undefined && name !== target.name && { name }),
  ...(enabled !== undefined && enabled !== target.enabled && { enabled }),
  ...(realmIds !== undefined && { realmIds }),
  ...(defaultPolicyId !== undefined && { defaultPolicyId }),
})

export const updateApiClient = operation('PATCH /api-clients/:id', {
  summary: 'Change an API client; a disabled one is refused at once',
  on: { target: from.path(ApiClient), realms, policy },
  needs: { target: 'UPDATE_API_CLIENT' },
  alsoNeeds: sharing,
  body: UpdateApiClientRequest,
  example: { body: { name: 'deploy-bot-2', version: 1 } },
  returns: [200, UpdateApiClientResponse],
  fails: [409, 415, 422, 502],
  refuses: ['ALREADY_EXISTS', 'LAST_ADMIN', ...ofAssignment, ...ofWriting],
  handle: async ({ em, caller, temporal, target, body: { version, ...change } }) => {
    if (changesNothing(target, change)) return shown(target)
    await judgeUpdate(em, caller, { target, change })
    const { id: apiClientId, providerId } = target
    const order = { apiClientId, providerId, principal: actorOf(caller), ...differing(target, change) }
    const start = updateApiClientRun({ ...order, ...(typeof version === 'number' && { version }) })
    if (!(await hasRun({ temporal }, start))) throw unanswered()
    return shown(await em.refreshOrFail(target))
  },
})

export const resetApiClientSecret = operation('POST /api-clients/:id/reset-secret', {
  summary: 'Give an API client a new secret, shown only now; the old one dies at once',
  on: ApiClient,
  needs: 'RESET_API_CLIENT',
  returns: [200, ResetApiClientSecretResponse],
  fails: [502],
  refuses: ofWriting,
  handle: async ({ caller, temporal, seal, target }) => {
    const { id, providerId } = target
    const { secret, sealedSecret } = newSecret({ seal }, target)
    const order = { apiClientId: id, providerId, principal: actorOf(caller), resetId: randomUUID(), sealedSecret }
    if (!(await hasRun({ temporal }, resetApiClientSecretRun(order)))) throw unanswered()
    return { id, providerId, secret }
  },
})

export const deleteApiClient = operation('DELETE /api-clients/:id', {
  summary: 'Delete an API client with its grants; what it created stays',
  on: ApiClient,
  needs: 'DELETE_API_CLIENT',
  query: { version: Count(0) },
  example: { query: { version: '1' } },
  returns: [204, null],
  fails: [409, 502],
  refuses: ['VERSION_CONFLICT', 'LAST_ADMIN', ...ofWriting],
  handle: async ({ em, caller, temporal, target, query: { version } }) => {
    if (version !== target.version) throw new Failure('VERSION_CONFLICT')
    await mustBeDeletable(em, target)
    const { id: apiClientId, providerId } = target
    const order = { apiClientId, providerId, principal: actorOf(caller), version }
    const ended = await hasRun({ temporal }, deleteApiClientRun(order))
    // Deleted is who has no record: what is left to do at the identity provider is done as soon as that can be.
    if (!ended && (await em.fork().count(ApiClient, { id: apiClientId }))) throw unanswered()
  },
})
