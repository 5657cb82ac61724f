// The clients in the admin API of the embedded identity provider. One thing differs from Keycloak: secrets are kept as
// hashes, so the secret that a GET tells is a hash, which a PUT takes back as it is.
import { randomBytes } from 'node:crypto'
import { membersOf, pageOf, refusal, type AdminApi, type Answer, type Call, type Members } from './admin-call.ts'
import type { ClientData, IdentityClient } from './identity-store.ts'

const notFound: Answer = { status: 404, body: { error: 'Could not find client' } }

const representationOf = ({ id, clientId, name, enabled, attributes }: IdentityClient) => ({
  id,
  clientId,
  ...(name !== null && { name }),
  enabled,
  protocol: 'openid-connect',
  publicClient: false,
  bearerOnly: false,
  standardFlowEnabled: false,
  implicitFlowEnabled: false,
  directAccessGrantsEnabled: false,
  serviceAccountsEnabled: true,
  clientAuthenticatorType: 'client-secret',
  attributes,
})

/** A client after a change: members that are absent stay. */
const dataOf = (body: Members, before?: IdentityClient): ClientData => {
  const { clientId, name, enabled, attributes, secret } = body
  return {
    clientId: typeof clientId === 'string' ? clientId : (before?.clientId ?? ''),
    name: typeof name === 'string' ? name : (before?.name ?? null),
    enabled: typeof enabled === 'boolean' ? enabled : (before?.enabled ?? true),
    attributes: { ...before?.attributes, ...(attributes as Record<string, string> | undefined) },
    ...(typeof secret === 'string' && { secret }),
  }
}

const list = async ({ store }: AdminApi, call: Call): Promise<Answer> => {
  const clientId = call.query.get('clientId')
  if (clientId === null) return { status: 200, body: (await store.listClients(...pageOf(call))).map(representationOf) }
  const found = await store.findClient(clientId)
  return { status: 200, body: found ? [representationOf(found)] : [] }
}

const create = async ({ store }: AdminApi, call: Call): Promise<Answer> => {
  const data = dataOf(membersOf(call))
  if (data.clientId === '') return refusal(400, 'The client id is missing')
  const made = await store.insertClient({ secret: randomBytes(24).toString('base64url'), ...data })
  if (!made) return refusal(409, `Client ${data.clientId} already exists`)
  return { status: 201, location: `${call.here}/${made.id}` }
}

type OfClient = (api: AdminApi, client: IdentityClient, call: Call) => Promise<Answer>

/** Method and part → answer. */
const ofClient: Readonly<Record<string, OfClient>> = {
  'GET ': async (_, client) => ({ status: 200, body: representationOf(client) }),
  'PUT ': async ({ store }, client, call) => {
    await store.updateClient(client.id, dataOf(membersOf(call), client))
    return { status: 204 }
  },
  'DELETE ': async ({ store }, { id }) => {
    await store.removeClient(id)
    return { status: 204 }
  },
  'GET client-secret': async ({ store }, { id }) => ({
    status: 200,
    body: { type: 'secret', value: await store.secretHashOf(id) },
  }),
  'POST client-secret': async ({ store }, client) => {
    const value = randomBytes(24).toString('base64url')
    await store.updateClient(client.id, { ...client, secret: value })
    return { status: 200, body: { type: 'secret', value } }
  },
  'GET service-account-user': async (_, { serviceAccountId, clientId }) => ({
    status: 200,
    body: { id: serviceAccountId, username: `service-account-${clientId.toLowerCase()}`, enabled: true },
  }),
}

/** Answers a call below `/clients`. */
export const answerClients = async (api: AdminApi, call: Call): Promise<Answer> => {
  const [id, part = ''] = call.parts
  if (id === undefined) {
    if (call.method === 'GET') return list(api, call)
    return call.method === 'POST' ? create(api, call) : { status: 405 }
  }
  const client = await api.store.findClientById(id)
  if (!client) return notFound
  return (await ofClient[`${call.method} ${part}`]?.(api, client, call)) ?? { status: 405 }
}
