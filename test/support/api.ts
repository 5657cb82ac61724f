// The API in this process, on a free loopback port and a database of its own, and callers with the grants they need.
import { randomBytes, randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { EntityManager } from '@mikro-orm/postgresql'
import { decodeJwt } from 'jose'
import { pino } from 'pino'
import { createApp, operations as allOperations } from '../../api/app.ts'
import { authenticateWith, type Authenticate } from '../../api/kernel/authentication.ts'
import type { Dependencies } from '../../api/kernel/dependencies.ts'
import type { Operations } from '../../api/kernel/operation.ts'
import { connectTemporal } from '../../api/kernel/temporal.ts'
import { serverOf } from '../../api/server.ts'
import type { GlobalPermission } from '../../domain/permission-enums.ts'
import type { Scope } from '../../domain/permissions.ts'
import { grant } from '../../storage/grant.ts'
import { openStorage } from '../../storage/orm.ts'
import { Seal } from '../../storage/seal.ts'
import { Settings } from '../../storage/settings.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { User } from '../../storage/rows/user.ts'
import { freshDatabase, serviceUrlOf } from './database.ts'
import { mustBeDeclared } from './declared.ts'
import { startIssuer } from './issuer.ts'
import { stack } from './stack.ts'

/** An answer of the API, its JSON body read. */
export interface Reply {
  readonly status: number
  // Tests look into bodies of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
  readonly headers: Headers
}

/** How a request differs from the usual JSON request. */
export interface Extras {
  readonly headers?: Record<string, string>
  /** The body as it goes over the wire, instead of JSON. */
  readonly raw?: string | Uint8Array
}

const clientOf = (url: string, token?: string) => {
  const send =
    (method: string) =>
    async (path: string, body?: unknown, { headers = {}, raw }: Extras = {}): Promise<Reply> => {
      const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const response = await fetch(path.startsWith('/') ? url + path : path, {
        method,
        headers: {
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...(payload !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(payload !== undefined && { body: payload as string }),
      })
      const text = await response.text()
      const isJson = response.headers.get('Content-Type')?.includes('json')
      const reply = {
        status: response.status,
        headers: response.headers,
        body: isJson && text ? JSON.parse(text) : text,
      }
      mustBeDeclared(method, path, reply)
      return reply
    }
  return {
    get: (path: string, extras?: Extras) => send('GET')(path, undefined, extras),
    post: send('POST'),
    patch: send('PATCH'),
    put: send('PUT'),
    delete: send('DELETE'),
  }
}

/** How a test calls the API. */
export type ApiCaller = ReturnType<typeof clientOf>

/** Grants by scope: `{ GLOBAL: ['ADMIN'], REALM: { [id]: ['READ'] } }`. */
export type GrantsByScope = { readonly GLOBAL?: readonly GlobalPermission[] } & {
  readonly [S in Scope]?: Readonly<Record<string, readonly string[]>>
}

/** Gives a principal these grants. */
export const giveGrants = async (em: EntityManager, principalId: string, grants: GrantsByScope): Promise<void> => {
  const { GLOBAL: global = [], ...scoped } = grants
  if (global.length > 0)
    await grant(em, principalId, { scope: 'GLOBAL', resourceIds: [principalId], permissions: global })
  for (const [scope, byId] of Object.entries(scoped))
    for (const [id, permissions] of Object.entries(byId))
      await grant(em, principalId, { scope: scope as Scope, resourceIds: [id], permissions })
}

const listen = (app: ReturnType<typeof createApp>) =>
  new Promise<Server>(resolve => {
    const server = serverOf(app).listen(0, '127.0.0.1', () => resolve(server))
  })

const issuerOf = (header: string | undefined): string | undefined => {
  try {
    return decodeJwt(header?.slice('Bearer '.length) ?? '').iss
  } catch {
    return undefined
  }
}

/** Believes the tests' own issuer, and the identity provider of the stack where a token says that it is of that. */
const authenticateBoth = (own: string): Authenticate => {
  const known = authenticateWith({ issuer: own, audiences: [], algorithms: ['ES256', 'RS256'] })
  const provider = authenticateWith({ issuer: stack.issuer(), audiences: ['certwright'], algorithms: ['RS256'] })
  return header => (issuerOf(header) === stack.issuer() ? provider(header) : known(header))
}

/** How an API of a test differs from the usual one. */
export interface ApiOptions {
  /** The operations to mount; the real ones unless stated. */
  readonly operations?: Operations
  readonly databaseName?: string
  /** Replaces single dependencies. */
  readonly deps?: Partial<Dependencies>
}

/** Starts the API; `stop()` it after the tests. The in-process Temporal worker of a test uses the same `deps`. */
export const startApi = async ({ operations = allOperations, databaseName, deps: own }: ApiOptions = {}) => {
  const issuer = await startIssuer()
  const databaseUrl = await freshDatabase(databaseName)
  const orm = await openStorage({ url: serviceUrlOf(databaseUrl) })
  const owner = await openStorage({ url: databaseUrl, connections: 5 })
  const address = stack.temporalAddress()
  const seal = own?.seal ?? new Seal(new Map([['test', randomBytes(32)]]))
  const baseUrl = 'http://localhost'
  const deps: Dependencies = {
    orm,
    temporal: connectTemporal({ address, namespace: 'default', taskQueue: 'certwright' }),
    authenticate: authenticateBoth(issuer.issuer),
    settings: new Settings(orm.em, { seal, baseUrl, freshForMs: 0 }),
    seal,
    clock: () => new Date(),
    log: pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }),
    baseUrl,
    ...own,
  }
  const server = await listen(createApp(deps, operations))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const as = (token?: string): ApiCaller => clientOf(url, token)
  /** The records as their owner, who may do more with them than the service. */
  const em = () => owner.em.fork()

  /** A new user with these grants, and how the user calls. */
  const user = async (grants: GrantsByScope = {}) => {
    const providerId = randomUUID()
    const fork = em()
    const made = fork.create(User, {
      providerId,
      firstName: 'Test',
      lastName: 'User',
      email: `${providerId}@example.com`,
    })
    await fork.flush()
    await giveGrants(fork, made.id, grants)
    return { id: made.id, subject: providerId, ...as(await issuer.userToken(providerId)) }
  }

  /** A new API client with these grants, and how it calls. */
  const apiClient = async (grants: GrantsByScope = {}) => {
    const providerId = randomUUID()
    const fork = em()
    const made = fork.create(ApiClient, { providerId, name: providerId })
    await fork.flush()
    await giveGrants(fork, made.id, grants)
    return { id: made.id, clientId: providerId, ...as(await issuer.clientToken(providerId)) }
  }

  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise(resolve => void server.close(resolve))
    await deps.temporal.close()
    await orm.close()
    await owner.close()
    await issuer.stop()
  }
  return { url, as, user, apiClient, em, deps, issuer, databaseUrl, stop, anonymous: as() }
}

/** A running API of a test. */
export type Api = Awaited<ReturnType<typeof startApi>>
