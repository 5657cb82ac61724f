// The part of the demonstration that devices see: a policy that takes part in SCEP, the gateway's API client, and what a
// device needs to enrol once; all made through the REST API.
import { createHash, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { type Identified, makeOrFind, makePolicy, type Makers, type Page } from './making.ts'
import { type RestClient, refusedAs, RestError } from './rest-client.ts'
import { writePrivately } from './secrets.ts'

/** The API client that the gateway is, as the file in the data folder keeps it. */
export interface GatewayClient {
  readonly id: string
  readonly clientId: string
  readonly clientSecret: string
}

/** What devices of the demonstration need to know. */
export interface ScepDemonstration {
  readonly policyId: string
  readonly endEntityId: string
  readonly commonName: string
  /** SHA-256 of the CA's certificate. */
  readonly caFingerprint: string
  readonly gateway: GatewayClient
}

const commonName = 'device.demo.example'
const externalId = 'demo-device'
const clientName = 'Demo SCEP gateway'

const devicePolicy = {
  name: 'Demo devices',
  certificateProviderConfiguration: '{"templateSignerName":"DEVICE"}',
  requiresManualApproval: false,
  allowedKeyPairModes: ['PKCS10', 'SERVER_GEN'],
  allowedValidForValues: ['THREE_MONTHS', 'SIX_MONTHS', 'ONE_YEAR'],
  cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA', 'EC'] },
  endEntityStrategy: 'COMMON_NAME',
  scepConfiguration: {},
}

interface MadeClient extends Identified {
  readonly providerId: string
  readonly secret: string
}

interface KnownClient extends Identified {
  readonly name: string
  readonly providerId: string
}

/** A client whose secret nobody has kept gets a new one. */
const newSecret = async (admin: RestClient): Promise<MadeClient> => {
  const search = { simpleSearchTerm: clientName }
  const { content } = await admin<Page<KnownClient>>('POST /api-clients/search', search)
  const known = content.find(({ name }) => name === clientName)
  if (known === undefined) throw new Error(`There is no API client ${clientName}.`)
  const { secret } = await admin<{ secret: string }>(`POST /api-clients/${known.id}/reset-secret`)
  return { ...known, secret }
}

const makeClient = async (admin: RestClient, realmId: string, defaultPolicyId: string): Promise<MadeClient> => {
  try {
    return await admin<MadeClient>('POST /api-clients', { name: clientName, realmIds: [realmId], defaultPolicyId })
  } catch (error) {
    if (refusedAs(error, 'ALREADY_EXISTS')) return newSecret(admin)
    throw error
  }
}

const isThere = (client: RestClient, call: string): Promise<boolean> =>
  client(call).then(
    () => true,
    (error: unknown) => {
      if (error instanceof RestError && error.status === 404) return false
      throw error
    },
  )

const gatewayClient = async (
  admin: RestClient,
  { realmId, policyId }: { readonly realmId: string; readonly policyId: string },
  file: string,
): Promise<GatewayClient> => {
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as GatewayClient) : undefined
  if (kept && (await isThere(admin, `GET /api-clients/${kept.id}`))) return kept
  const { id, providerId, secret } = await makeClient(admin, realmId, policyId)
  const client = { id, clientId: providerId, clientSecret: secret }
  writePrivately(file, `${JSON.stringify(client, null, 2)}\n`)
  return client
}

const fingerprintOf = (pem: string): string => createHash('sha256').update(new X509Certificate(pem).raw).digest('hex')

/** Makes what devices need, or finds what an earlier start made; the gateway's client is kept in the file. */
export const makeScepDemonstration = async (
  { admin, demo }: Makers,
  realmId: string,
  file: string,
): Promise<ScepDemonstration> => {
  const policyId = await makePolicy({ admin, demo }, realmId, devicePolicy)
  const endEntityId = await makeOrFind(
    () => demo('POST /end-entities/', { realmId, commonName, externalId }),
    () => demo<Identified>(`GET /end-entities/realms/${realmId}/externals/${externalId}`),
  )
  const { caChainPem } = await demo<{ caChainPem: string }>(`GET /scep/policies/${policyId}/configuration`)
  const gateway = await gatewayClient(admin, { realmId, policyId }, file)
  return { policyId, endEntityId, commonName, caFingerprint: fingerprintOf(caChainPem), gateway }
}

/** Whether the service knows the first certificate of a PEM file. */
export const isEnrolled = async (demo: RestClient, file: string): Promise<boolean> => {
  if (!existsSync(file)) return false
  const fingerprint = fingerprintOf(readFileSync(file, 'utf8'))
  return isThere(demo, `GET /certificates/by-fingerprint?fingerprint=${fingerprint}`)
}

/** A password for one request of the demonstration's device. */
export const newChallenge = async (demo: RestClient, scep: ScepDemonstration): Promise<string> => {
  const { endEntityId, policyId } = scep
  const call = `POST /end-entities/${endEntityId}/scep-challenge`
  return (await demo<{ challenge: string }>(call, { policyId })).challenge
}
