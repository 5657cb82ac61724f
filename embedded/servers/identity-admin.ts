// The part of Keycloak's admin REST API that the worker uses, with Keycloak's paths, forms and statuses: what works here
// works there. Clients, users and roles have a file each.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { jwtVerify } from 'jose'
import type { AdminApi, Answer, Call } from './admin-call.ts'
import { answerClients } from './admin-clients.ts'
import { answerRoles, answerUsers } from './admin-users.ts'

const longestBody = 65_536

/** Who administrates clients and users: its access token says so as Keycloak's tokens do. */
export const managementRoles = {
  'realm-management': {
    roles: [
      'manage-clients',
      'view-clients',
      'query-clients',
      'manage-users',
      'view-users',
      'query-users',
      'view-realm',
    ],
  },
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

/** The JSON of a request; null when it is neither an object nor a list, or too long. */
const bodyOf = async (request: IncomingMessage): Promise<object | null> => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > longestBody) return null
  }
  if (text === '') return {}
  try {
    const body = JSON.parse(text) as unknown
    return typeof body === 'object' ? body : null
  } catch {
    return null
  }
}

const collections: Readonly<Record<string, (api: AdminApi, call: Call) => Promise<Answer>>> = {
  clients: answerClients,
  users: answerUsers,
  roles: answerRoles,
}

const answered = async (api: AdminApi, request: IncomingMessage, path: string): Promise<Answer> => {
  const refused = await refusalOf(api, request)
  if (refused) return refused
  const [collection = '', ...parts] = path.split('/').filter(Boolean).map(decodeURIComponent)
  const body = await bodyOf(request)
  if (body === null) return { status: 400, body: { error: 'The request cannot be read' } }
  const url = new URL(request.url ?? '', 'http://localhost')
  const above = url.pathname.slice(0, url.pathname.length - path.length).replace(/\/$/, '')
  const here = `http://${request.headers.host}${above}/${collection}`
  const call = { method: request.method ?? '', parts, query: url.searchParams, body, here }
  return (await collections[collection]?.(api, call)) ?? { status: 404, body: { error: 'HTTP 404 Not Found' } }
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
