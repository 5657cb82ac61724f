// The demonstration of a first start: realm, policy, end entity and certificate, made through the REST API.
import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { checkChain } from './chain-check.ts'
import { demoPrincipals, type Started } from './environment.ts'
import { type Identified, makeOrFind, makePolicy, type Makers, named } from './making.ts'
import { type RestClient, refusedAs, RestError, getToken, restClient } from './rest-client.ts'
import { isEnrolled, makeScepDemonstration, newChallenge, type ScepDemonstration } from './scep-demonstration.ts'
import { writePrivately } from './secrets.ts'

/** The ids of the demonstration's resources, as far as they exist. */
interface DemoResources {
  readonly realmId: string
  readonly policyId: string
  readonly endEntityId: string
  readonly certRequestId: string
  readonly certificateId: string
}

/** The demonstration's certificate and how it was checked. */
export interface Demonstration extends DemoResources {
  readonly isNew: boolean
  readonly subject: string
  readonly validTo: string
  readonly check: string
  readonly scep: ScepDemonstration
}

interface Principal extends Identified {
  readonly globalPermissions: readonly string[]
}

/** The certificate of the device that enrolled over SCEP. */
export interface DemoDevice {
  readonly subject: string
  readonly file: string
  readonly check: string
}

const demoExternalId = 'demo-server'
const demoHost = 'server.demo.example'
const rightsTimeoutMs = 60_000
const issueTimeoutMs = 120_000
const pollMs = 200

const whoAmI = (client: RestClient): Promise<Principal> => client<Principal>('GET /authenticated-principal/')

// The worker gives ADMIN to the administrator of the start configuration soon after its first start.
const untilAdmin = async (admin: RestClient): Promise<void> => {
  const deadline = Date.now() + rightsTimeoutMs
  while (!(await whoAmI(admin)).globalPermissions.includes('ADMIN')) {
    if (Date.now() > deadline)
      throw new Error('The administrator got no rights: logs/worker.log in the data folder has the reason.')
    await wait(pollMs)
  }
}

const allowRealms = async (admin: RestClient, demo: RestClient): Promise<void> => {
  const { id, globalPermissions } = await whoAmI(demo)
  if (globalPermissions.includes('REALMS_CREATE')) return
  const permissions = [...globalPermissions, 'REALMS_CREATE']
  await admin('PATCH /permissions/global', { principalId: id, principalType: 'API_CLIENT', permissions })
}

const makeRealm = (demo: RestClient): Promise<string> =>
  makeOrFind(
    () => demo('POST /realms/', { name: 'Demo' }),
    () => named(demo, 'GET /realms/?size=1000', 'Demo'),
  )

const serverPolicy = {
  name: 'Demo servers',
  certificateProviderConfiguration: '{"templateSignerName":"SERVER"}',
  requiresManualApproval: false,
  allowedKeyPairModes: ['SERVER_GEN', 'PKCS10'],
  allowedValidForValues: ['THREE_MONTHS', 'SIX_MONTHS', 'ONE_YEAR'],
  cryptoRestrictions: { allowedCryptoAlgorithms: ['RSA', 'EC'] },
  endEntityStrategy: 'COMMON_NAME',
}

const makeEndEntity = (demo: RestClient, realmId: string): Promise<string> =>
  makeOrFind(
    () =>
      demo('POST /end-entities/', { realmId, commonName: demoHost, externalId: demoExternalId, domains: [demoHost] }),
    () => demo<Identified>(`GET /end-entities/realms/${realmId}/externals/${demoExternalId}`),
  )

const makeRequest = async (demo: RestClient, policyId: string, endEntityId: string): Promise<string> => {
  const keyGenParamsDto = { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' }
  const request = { policyId, endEntityId, validFor: 'SIX_MONTHS', keyPairMode: 'SERVER_GEN', keyGenParamsDto }
  return (await demo<Identified>('POST /cert-requests/', request)).id
}

// A slow machine may answer "still running": the same call then joins the run.
const issue = async (demo: RestClient, certRequestId: string): Promise<string> => {
  const deadline = Date.now() + issueTimeoutMs
  const attempt = async (): Promise<string> => {
    const call = `POST /certificates/cert-requests/${certRequestId}`
    const answer = await demo<{ certificate: Identified }>(call).catch((error: unknown) => {
      if (refusedAs(error, 'ISSUE_PENDING') && Date.now() < deadline) return undefined
      throw error
    })
    return answer?.certificate.id ?? attempt()
  }
  return attempt()
}

const makeAll = async ({ admin, demo }: Makers): Promise<DemoResources> => {
  await allowRealms(admin, demo)
  const realmId = await makeRealm(demo)
  const policyId = await makePolicy({ admin, demo }, realmId, serverPolicy)
  const endEntityId = await makeEndEntity(demo, realmId)
  const certRequestId = await makeRequest(demo, policyId, endEntityId)
  return { realmId, policyId, endEntityId, certRequestId, certificateId: await issue(demo, certRequestId) }
}

const readKept = async (file: string, demo: RestClient): Promise<DemoResources | undefined> => {
  if (!existsSync(file)) return undefined
  const kept = JSON.parse(readFileSync(file, 'utf8')) as DemoResources
  const there = await demo(`GET /certificates/${kept.certificateId}`).catch((error: unknown) => {
    if (error instanceof RestError && error.status === 404) return undefined
    throw error
  })
  return there === undefined ? undefined : kept
}

const clients = async ({ addresses: { baseUrl, tokenUrl }, secrets }: Started): Promise<Makers> => {
  const adminClient = { clientId: demoPrincipals.adminClientId, clientSecret: secrets.adminClientSecret }
  const adminUser = { ...adminClient, username: demoPrincipals.admin.username, password: secrets.adminPassword }
  const demoClient = { clientId: demoPrincipals.clientId, clientSecret: secrets.clientSecret }
  return {
    admin: restClient(baseUrl, await getToken(tokenUrl, adminUser)),
    demo: restClient(baseUrl, await getToken(tokenUrl, demoClient)),
  }
}

/** Mails go to the embedded catcher; what somebody has set stays. */
const configureMail = async (admin: RestClient, { config }: Started): Promise<void> => {
  const wanted = {
    'mail.host': '127.0.0.1',
    'mail.port': String(config.SMTP_PORT),
    'mail.from': 'certwright@localhost.localdomain',
    'mail.enabled': 'true',
  }
  const stored = await Promise.all(
    Object.keys(wanted).map(key => admin<{ valueSet: boolean }>(`GET /configuration/${key}`)),
  )
  if (stored.some(({ valueSet }) => valueSet)) return
  const configurations = Object.entries(wanted).map(([settingsKey, value]) => ({ settingsKey, value }))
  await admin('PATCH /configuration/batch', { configurations })
}

/** Makes the demonstration through the REST interface, as any client would, or finds what an earlier start made. */
export const bootstrap = async (started: Started, folder: string): Promise<Demonstration> => {
  const file = `${folder}/demo.json`
  const { admin, demo } = await clients(started)
  await untilAdmin(admin)
  await configureMail(admin, started)
  const kept = await readKept(file, demo)
  const resources = kept ?? (await makeAll({ admin, demo }))
  if (kept === undefined) writePrivately(file, `${JSON.stringify(resources, null, 2)}\n`)
  const scep = await makeScepDemonstration({ admin, demo }, resources.realmId, `${folder}/scep-client.json`)
  const chainCall = `GET /certificates/${resources.certificateId}/download-chain?casFirst=false`
  const { pemCertificate } = await demo<{ pemCertificate: string }>(chainCall)
  const { subject, validTo } = new X509Certificate(pemCertificate)
  return { ...resources, isNew: kept === undefined, subject, validTo, check: await checkChain(pemCertificate), scep }
}

/** How a device enrols with a challenge and keeps its key and certificate in a folder. */
export type EnrolDevice = (challenge: string, folder: string) => Promise<void>

/** Lets the demonstration's device enrol once, and answers the certificate that it has now. */
export const enrolOnce = async (
  started: Started,
  { scep, folder }: { readonly scep: ScepDemonstration; readonly folder: string },
  enrolDevice: EnrolDevice,
): Promise<DemoDevice> => {
  const file = `${folder}/device.pem`
  const { demo } = await clients(started)
  if (!(await isEnrolled(demo, file))) await enrolDevice(await newChallenge(demo, scep), folder)
  const chainPem = readFileSync(file, 'utf8')
  return { subject: new X509Certificate(chainPem).subject, file, check: await checkChain(chainPem) }
}
