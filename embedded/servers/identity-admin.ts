// The part of Keycloak's admin REST API that writes clients, with Keycloak's paths, forms and statuses: what works here
// works there. One thing differs: secrets are kept as hashes, so the secret that a GET tells is a hash, which a PUT takes
// back as it is.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { jwtVerify, type JWTVerifyGetKey } from 'jose'
import type { ClientData, IdentityClient, IdentityStore } from './identity-store.ts'

const longestBody = 65_536
const mostListed = 100

/** Who administrates clients: its access token says so as Keycloak's tokens do. */
export const managementRoles = { 'realm-management': { roles: ['manage-clients', 'view-clients', 'query-clients'] } }

interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly location?: string
}

interface Call {
  readonly method: string
  /** Behind `/clients`: nothing, the id of a client, and one of its parts. */
  readonly id: string | undefined
  readonly part: string | undefined
  readonly query: URLSearchParams
  readonly body: Readonly<Record<string, unknown>>
  /** The address of all clients. */
  readonly here: string
}

/** What the admin API is made of. */
export interface AdminApi {
  readonly store: IdentityStore
  readonly issuer: string
  readonly keys: JWTVerifyGetKey
}

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
const dataOf = (body: Call['body'], before?: IdentityClient): ClientData => {
  const { clientId, name, enabled, attributes, secret } = body
  return {
    clientId: typeof clientId === 'string' ? clientId : (before?.clientId ?? ''),
    name: typeof name === 'string' ? name : (before?.name ?? null),
    enabled: typeof enabled === 'boolean' ? enabled : (before?.enabled ?? true),
    attributes: { ...before?.attributes, ...(attributes as Record<string, string> | undefined) },
    ...(typeof secret === 'string' && { secret }),
  }
}

const list = async ({ store }: AdminApi, { query }: Call): Promise<Answer> => {
  const clientId = query.get('clientId')
  if (clientId === null) {
    const max = Math.min(Number(query.get('max') ?? mostListed), mostListed)
    const found = await store.listClients(Number(query.get('first') ?? 0), max)
    return { status: 200, body: found.map(representationOf) }
  }
  const found = await store.findClient(clientId)
  return { status: 200, body: found ? [representationOf(found)] : [] }
}

const create = async ({ store }: AdminApi, { body, here }: Call): Promise<Answer> => {
  const data = dataOf(body)
  if (data.clientId === '') return { status: 400, body: { errorMessage: 'The client id is missing' } }
  const made = await store.insertClient({ secret: randomBytes(24).toString('base64url'), ...data })
  if (!made) return { status: 409, body: { errorMessage: `Client ${data.clientId} already exists` } }
  return { status: 201, location: `${here}/${made.id}` }
}

type OfClient = (api: AdminApi, client: IdentityClient, call: Call) => Promise<Answer>

/** Method and part → answer. */
const ofClient: Readonly<Record<string, OfClient>> = {
  'GET ': async (_, client) => ({ status: 200, body: representationOf(client) }),
  'PUT ': async ({ store }, client, { body }) => {
    await store.updateClient(client.id, dataOf(body, client))
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

const answer = async (api: AdminApi, call: Call): Promise<Answer> => {
  if (call.id === undefined) {
    if (call.method === 'GET') return list(api, call)
    return call.method === 'POST' ? create(api, call) : { status: 405 }
  }
  const client = await api.store.findClientById(call.id)
  if (!client) return notFound
  return (await ofClient[`${call.method} ${call.part ?? ''}`]?.(api, client, call)) ?? { status: 405 }
}

/** 401 without a good token, 403 for the token of a client that does not manage clients. */
const refusalOf = async ({ store, issuer, keys }: AdminApi, request: IncomingMessage): Promise<Answer | undefined> => {
  const [, token = ''] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  const verified = await jwtVerify(token, keys, { issuer }).catch(() => undefined)
  if (!verified) return { status: 401, body: { error: 'HTTP 401 Unauthorized' } }
  const client = await store.findClient(String(verified.payload['azp']))
  const isManager = client?.enabled && client.managesClients && verified.payload.sub === client.serviceAccountId
  return isManager ? undefined : { status: 403, body: { error: 'HTTP 403 Forbidden' } }
}

/** The JSON object of a request; null when it is none, or too long. */
const bodyOf = async (request: IncomingMessage): Promise<Call['body'] | null> => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > longestBody) return null
  }
  if (text === '') return {}
  try {
    const body = JSON.parse(text) as unknown
    return typeof body === 'object' && body !== null ? (body as Call['body']) : null
  } catch {
    return null
  }
}

const callOf = async (request: IncomingMessage, path: string): Promise<Call | undefined> => {
  const url = new URL(request.url ?? '', 'http://localhost')
  const [, id, part] = /^\/clients(?:\/([^/]+)(?:\/([a-z-]+))?)?$/.exec(path) ?? []
  const body = await bodyOf(request)
  if (!path.startsWith('/clients') || body === null) return undefined
  const here = `http://${request.headers.host}${url.pathname.replace(/\/clients.*$/, '/clients')}`
  return { method: request.method ?? '', id, part, query: url.searchParams, body, here }
}

const answered = async (api: AdminApi, request: IncomingMessage, path: string): Promise<Answer> => {
  const refusal = await refusalOf(api, request)
  if (refusal) return refusal
  const call = await callOf(request, path)
  return call ? answer(api, call) : { status: 400, body: { error: 'The request cannot be read' } }
}

/** Answers a request below `/admin/realms/<realm>`, whose path behind that is given. */
export const administer = async (
  api: AdminApi,
  { request, response, path }: { request: IncomingMessage; response: ServerResponse; path: string },
): Promise<void> => {
  const { status, body, location } = await answered(api, request, path).catch((): Answer => ({
    status: 500,
    body: { error: 'unknown_error' },
  }))
  response.writeHead(status, {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(location !== undefined && { location }),
  })
  response.end(body === undefined ? undefined : JSON.stringify(body))
}
