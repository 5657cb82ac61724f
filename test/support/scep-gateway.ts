// A SCEP gateway in this process before the service of a test, over plain HTTP on a free loopback port.
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { pino } from 'pino'
import { createGateway } from '../../scep-gateway/app.ts'
import { readConfig } from '../../scep-gateway/config.ts'
import { makeGateway } from '../../scep-gateway/make.ts'
import { httpServer, listening } from '../../scep-gateway/server.ts'
import { ApiClient } from '../../storage/rows/api-client.ts'
import { giveGrants } from './api.ts'
import { makeScene, type Scene, type Service } from './service.ts'

/** Closes a server and all of its connections. */
export const closeServer = (server: Server): Promise<void> => {
  server.closeAllConnections()
  return new Promise(resolve => void server.close(() => resolve()))
}

/** The token path of an identity provider, for one API client of a test. */
export const startTokens = async ({ issuer }: Service, clientId: string) => {
  const server = createServer((_, response) => {
    void issuer
      .clientToken(clientId)
      .then(token => response.end(JSON.stringify({ access_token: token, expires_in: 300 })))
  })
  const port = await listening(server, 0, '127.0.0.1')
  return { url: `http://127.0.0.1:${port}/token`, stop: () => closeServer(server) }
}

/** The grants that come with a realm and a default policy (contract 7.2). */
const grantsOf = ({ realmId, policyId }: Pick<Scene, 'realmId' | 'policyId'>) => ({
  REALM: { [realmId]: ['FULL_READ', 'ENDENTITIES_CREATE'] },
  POLICY: { [policyId]: ['READ', 'CERTS_CREATE', 'SIGN'] },
})

/** A scene whose policy takes part in SCEP. */
export const makeScepScene = (service: Service, members: Record<string, unknown> = {}): Promise<Scene> =>
  makeScene(service, {
    scepConfiguration: {},
    certificateProviderConfiguration: '{"templateSignerName":"DEVICE"}',
    allowedKeyPairModes: ['PKCS10'],
    ...members,
  })

/** A provider whose CA has an RSA key, which can be a SCEP signer itself. */
export const rsaProvider = async (service: Service): Promise<string> => {
  const admin = await service.user({ GLOBAL: ['ADMIN'] })
  const configuration = JSON.stringify({ keyAlgorithm: 'RSA', keySize: 2048 })
  const body = { name: `RSA ${randomUUID()}`, certificateProviderType: 'LOCAL', configuration }
  const made = await admin.post('/api/v1/certificate-providers', body)
  if (made.status !== 201) throw new Error(`No provider: ${made.status} ${JSON.stringify(made.body)}`)
  return made.body.id
}

/** An API client with a realm and a default policy, null for none. */
export const scepClient = async (service: Service, scene: Scene, { isDefault = true } = {}) => {
  const client = await service.apiClient(grantsOf(scene))
  const em = service.em()
  await em.nativeUpdate(ApiClient, { id: client.id }, { defaultPolicyId: isDefault ? scene.policyId : null })
  await giveGrants(em, client.id, {})
  return client
}

/** What a test may want to be otherwise: keys of `application.properties`, and the API client. */
export interface GatewayOptions {
  readonly properties?: Readonly<Record<string, string>>
  readonly client?: { readonly clientId: string }
  /** Where the service is, when it is not that of the test. */
  readonly baseUrl?: string
}

/** Properties as a file has them. */
export const fileOf = (properties: Readonly<Record<string, string>>): string =>
  Object.entries(properties)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')

/** Starts a gateway; `stop()` it after the tests. */
export const startGateway = async (service: Service, scene: Scene, options: GatewayOptions = {}) => {
  const client = options.client ?? (await scepClient(service, scene))
  const tokens = await startTokens(service, client.clientId)
  const properties = {
    'scep.service.base-url': options.baseUrl ?? service.url,
    'scep.service.token-url': tokens.url,
    'scep.service.client-id': client.clientId,
    'scep.service.client-secret': 'known to the test',
    'scep.rate-limit': '0',
    ...options.properties,
  }
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const { bounds, ...parts } = makeGateway(readConfig(fileOf(properties), {}), log)
  const answer = createGateway(parts).callback()
  const server = httpServer(bounds, (request, response) => void answer(request, response))
  const port = await listening(server, 0, '127.0.0.1')
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    /** Where devices of the scene's policy go. */
    scepUrl: `http://127.0.0.1:${port}/scep/${scene.policyId}`,
    parts,
    bounds,
    /** What it has logged. */
    logged: () => lines.join(''),
    stop: async () => {
      await closeServer(server)
      await tokens.stop()
    },
  }
}
export type TestGateway = Awaited<ReturnType<typeof startGateway>>
