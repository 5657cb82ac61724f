// What becomes of the secrets of devices: after enrolments of every kind and messages of CMP, good and refused, none of them
// stands in a table, in what Temporal keeps, in a log, in an error, in an answer of CMP or in a metric. The same search finds what is stored on purpose.
import { readdirSync } from 'node:fs'
import { createPrivateKey, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Client, Connection as Temporal } from '@temporalio/client'
import { openCaSigner, openSignerKey } from '../../authority/signers.ts'
import { temporalNamespace } from '../../embedded/servers/temporal.ts'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { signatureAlgorithms } from '../../pki/keys/algorithms.ts'
import { Certificate } from '../../storage/rows/certificate.ts'
import { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { PolicySigner } from '../../storage/rows/policy-signer.ts'
import { parseKeys, Seal } from '../../storage/seal.ts'
import { pbm, protectedPart, statedIn } from '../support/cmp-messages.ts'
import { until } from '../support/issuing.ts'
import { startProcesses, type Processes } from '../support/processes.ts'
import { certificatesIn, connect, csrOf, enrolled, newDevice, pollContent, rsaKeys } from '../support/scep-device.ts'
import { untilDone, type Connection } from '../support/scep-device.ts'
import { gatewayProcess } from '../support/scep-process.ts'
import { newName, refusal, unauthorised } from '../support/scep-setting.ts'
import { fileOf, partOfKey, type Place, placesOf, runsOf, tablesOf } from '../support/secret-scan.ts'
import { untilMade } from './scene.ts'

let service: Processes
let gateways: RunningProcess[] = []
let places: Place[] = []
const secrets = new Map<string, string | Buffer>()
const errors: string[] = []
const answers: string[] = []
const metrics: string[] = []
const canary = newName()
const seen = { transactionId: randomUUID(), certRequestId: '' }

beforeAll(async () => {
  service = await startProcesses({ logLevel: 'trace' })
  await untilMade(service)
  await live()
  places = await collect()
}, 600_000)
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop()
  await service?.stop()
}, 60_000)

const call = async (method: string, path: string, body?: unknown) => {
  const answer = await service.call(method, `/api/v1${path}`, body)
  if (answer.status >= 400) errors.push(JSON.stringify(answer.body))
  return answer
}
const must = async (...asked: Parameters<typeof call>) => {
  const { status, body } = await call(...asked)
  if (status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${status} ${JSON.stringify(body)}`)
  return body
}
const refusedBy = async (...asked: Parameters<typeof call>) =>
  expect((await call(...asked)).status).toBeGreaterThan(399)

/** Notes a secret, and answers it. */
const secret = (name: string, text: string): string => {
  secrets.set(name, text)
  return text
}

const makePolicy = async (realmId: string, requiresManualApproval: boolean): Promise<string> => {
  const provider = await until('the built-in CA is there', async () => {
    const { content } = await must('POST', '/certificate-providers/search', { simpleSearchTerm: 'Built-in CA' })
    return content[0]
  })
  const policy = {
    realmId,
    name: `Policy ${randomUUID()}`,
    certificateProviderId: provider.id,
    certificateProviderConfiguration: '{"templateSignerName":"DEVICE"}',
    allowedKeyPairModes: ['SERVER_GEN', 'PKCS10'],
    scepConfiguration: {},
    cmpConfiguration: {},
    requiresManualApproval,
  }
  return (await must('POST', '/policies', policy)).id
}

/** A gateway as a client of its own, whose secret was made anew once. */
const startGateway = async (name: string, of: { realmId: string; policyId: string }, settings: object = {}) => {
  const body = { name, realmIds: [of.realmId], defaultPolicyId: of.policyId }
  const { id, providerId, secret: first } = await must('POST', '/api-clients', body)
  secret(`the first client secret of ${name}`, first)
  const { secret: clientSecret } = await must('POST', `/api-clients/${id}/reset-secret`)
  secret(`the client secret of ${name}`, clientSecret)
  const { baseUrl, tokenUrl } = service.started.addresses
  const process = await gatewayProcess({
    access: { baseUrl, tokenUrl, clientId: providerId, clientSecret },
    logFolder: join(service.folder, name),
    settings: { LOG_LEVEL: 'trace', ...settings },
  })
  gateways = [...gateways, await process.start()]
  metrics.push(process.metricsUrl)
  return { ...of, url: `${process.url}/scep` }
}
type Gateway = Awaited<ReturnType<typeof startGateway>>

const newEndEntity = async ({ realmId, policyId }: Gateway, commonName = newName()) => {
  const { id } = await must('POST', '/end-entities', { realmId, commonName })
  const pair = { endEntityId: id as string, policyId }
  const { password } = await must('POST', '/end-entity-passwords', pair)
  secret(`the password of ${commonName}`, password)
  return { name: commonName, pair, password: password as string }
}

const asking = async (connection: Connection, name: string, challengePassword?: string) =>
  connection.ask({ messageType: 'PKCSReq', content: await csrOf(name, await rsaKeys(), { challengePassword }) })
const expectRefused = async (...asked: Parameters<typeof asking>): Promise<void> =>
  expect(refusal(await asking(...asked))).toEqual(unauthorised)

const byPassword = async (gateway: Gateway): Promise<void> => {
  const { name, pair, password } = await newEndEntity(gateway, canary)
  const keys = await rsaKeys()
  const device = await connect(gateway.url, await newDevice(name, keys))
  const challengePassword = `${pair.endEntityId}:${password}`
  const content = await csrOf(name, keys, { challengePassword })
  const { transactionId } = seen
  const [leaf] = certificatesIn(await device.ask({ messageType: 'PKCSReq', content, transactionId }))
  const unknown = secret('a password of nobody', 'Nobody-has-this.one')
  const wrong = secret('a wrong password', 'Almost-Ri9ht.but(no')
  const malformed = secret('a challenge without an end entity', 'router-7:What?An,Id')
  for (const challenge of [`${pair.endEntityId}:${wrong}`, `${randomUUID()}:${unknown}`, malformed])
    await expectRefused(device, name, challenge)
  // By certificate: renewed once, refused with a wrong challenge and with another name.
  const fresh = await rsaKeys()
  const own = await connect(gateway.url, enrolled(name, keys, leaf as Buffer))
  const [renewal, other] = [await csrOf(name, fresh), await csrOf('another.example.org', fresh)]
  expect((await own.ask({ messageType: 'RenewalReq', content: renewal })).status).toBe('SUCCESS')
  expect((await own.ask({ messageType: 'RenewalReq', content: other })).failInfo).toBe('badRequest')
  await expectRefused(own, name, `${pair.endEntityId}:${wrong}`)
  await expectRefused(device, name)
}

const byChallenge = async (gateway: Gateway): Promise<void> => {
  const { name, pair } = await newEndEntity(gateway)
  const challenge = async (): Promise<string> =>
    (await must('POST', `/end-entities/${pair.endEntityId}/scep-challenge`, { policyId: pair.policyId })).challenge
  const [first, second] = [await challenge(), await challenge()]
  for (const [index, text] of [first, second].entries()) secret(`one-time challenge ${index}`, text.slice(37))
  const device = await connect(gateway.url, await newDevice(name))
  await expectRefused(device, name, first)
  expect((await asking(device, name, second)).status).toBe('SUCCESS')
  await expectRefused(device, name, second)
}

const byStaticPassword = async (gateway: Gateway, password: string): Promise<void> => {
  const name = newName()
  const device = await connect(gateway.url, await newDevice(name))
  expect((await asking(device, name, password)).status).toBe('SUCCESS')
  const wrong = secret('a wrong static password', `${password.slice(0, 12)}: no`)
  await expectRefused(device, name, wrong)
  await expectRefused(device, name)
}

const byApproval = async (gateway: Gateway): Promise<void> => {
  const { name, pair, password } = await newEndEntity(gateway)
  const device = await connect(gateway.url, await newDevice(name))
  const transactionId = randomUUID()
  const request = await csrOf(name, await rsaKeys(), { challengePassword: `${pair.endEntityId}:${password}` })
  expect((await device.ask({ messageType: 'PKCSReq', content: request, transactionId })).status).toBe('PENDING')
  const content = pollContent(device.signers.at(1) as Buffer, name)
  const poll = () => device.ask({ messageType: 'CertPoll', transactionId, content })
  expect((await poll()).status).toBe('PENDING')
  const { content: requests } = await must('POST', '/cert-requests/search', { realmId: gateway.realmId })
  const { id } = requests.find((one: { endEntityId: string }) => one.endEntityId === pair.endEntityId)
  seen.certRequestId = id
  await must('PATCH', `/cert-requests/${id}/approve`)
  expect((await untilDone(poll)).status).toBe('SUCCESS')
}

/** What is done with passwords over REST, and what of it is refused. */
const overRest = async (gateway: Gateway): Promise<void> => {
  const { name, pair, password } = await newEndEntity(gateway)
  const path = '/end-entity-passwords'
  const authenticate = (text: string) => must('POST', `${path}/authenticate`, { ...pair, password: text })
  expect((await authenticate(password)).authenticated).toBe(true)
  const { password: next } = await must('POST', `${path}/reset`, pair)
  secret('the password after the reset', next)
  const wrong = secret('a password that REST refused', 'Not-this.one,either')
  expect((await authenticate(next)).authenticated).toBe(true)
  for (const text of [password, wrong]) expect((await authenticate(text)).authenticated).toBe(false)
  await refusedBy('POST', path, pair)
  await refusedBy('POST', `${path}/authenticate`, { ...pair, policyId: 'none', password: next })
  await refusedBy('POST', `${path}/authenticate`, { ...pair, password: next.repeat(20) })
  await refusedBy('POST', `${path}/authenticate`, { ...pair, password: [next] })
  await refusedBy('POST', `${path}/authenticate`, { ...pair, password: `${next}\u0000` })
  await refusedBy('POST', `${path}/authenticate`, { ...pair, endEntityId: next, password: next })
  const token = await fetch(service.started.addresses.tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', password: next }),
  })
  errors.push(await token.text())

  const asked = { subject: { commonName: name }, keyGenParamsDto: { cryptoAlgorithm: 'RSA', keySize: 2048 } }
  const challengePassword = secret('a challengePassword', 'Challenge+me=twice?')
  const made = await must('POST', '/pkcs10', { ...asked, challengePassword })
  secrets.set('the key of a PKCS#10 request', partOfKey(made.pemPrivateKey))
  const request = { ...pair, validFor: 'SIX_MONTHS', keyPairMode: 'PKCS10' }
  const { pkcs10ReqBase64 } = made
  await must('POST', '/cert-requests', { ...request, pkcs10ReqBase64 })
  const broken = Buffer.from(pkcs10ReqBase64, 'base64')
  broken.writeUInt8(broken.readUInt8(broken.length - 1) ^ 1, broken.length - 1)
  await refusedBy('POST', '/cert-requests', { ...request, pkcs10ReqBase64: broken.toString('base64') })
  await refusedBy('POST', '/cert-requests', { ...request, pkcs10ReqBase64: broken.subarray(9).toString('base64') })
  await must('POST', `/end-entities/policies/${pair.policyId}/by-pkcs10`, { pkcs10ReqBase64 })
}

/** MACs by a password, right and wrong ones, and signatures by a signer of CMP. */
const overCmp = async (gateway: Gateway): Promise<void> => {
  const { pair } = await newEndEntity(gateway)
  const part = protectedPart({ protectionAlg: pbm() })
  const asked = { ...pair, ...statedIn(part) }
  const answered = async (path: string, body: object) => {
    const answer = await must('POST', `/cmp${path}`, body)
    answers.push(JSON.stringify(answer))
    return answer
  }
  const { macBase64 } = await answered('/calculate-mac', asked)
  const judged = async (mac: string) => (await answered('/verify-mac', { ...asked, macBase64: mac })).result
  expect([await judged(macBase64), await judged(Buffer.alloc(32, 1).toString('base64'))]).toEqual([true, false])
  await refusedBy('POST', '/cmp/calculate-mac', { ...asked, iterationCount: 501 })
  const { policyId } = pair
  const signed = protectedPart({ protectionAlg: signatureAlgorithms.SHA256_WITH_ECDSA.identifier })
  await answered('/sign', { policyId, dataBase64: signed.toString('base64') })
  await refusedBy('POST', '/cmp/sign', { policyId, dataBase64: asked.dataBase64 })
  answers.push(JSON.stringify(await must('GET', `/cmp/policies/${policyId}/configuration`)))
}

/** A key that the service makes and hands out. */
const byServer = async (gateway: Gateway): Promise<void> => {
  const { pair } = await newEndEntity(gateway)
  const keyGenParamsDto = { cryptoAlgorithm: 'EC' }
  const asked = { ...pair, validFor: 'SIX_MONTHS', keyPairMode: 'SERVER_GEN', keyGenParamsDto }
  const { id } = await must('POST', '/cert-requests', asked)
  const { certificate } = await must('POST', `/certificates/cert-requests/${id}`)
  const { pemPrivateKey } = await must('GET', `/certificates/${certificate.id}/download-private-key`)
  secrets.set('the key of a certificate', partOfKey(pemPrivateKey))
  const { password } = await must('GET', `/certificates/${certificate.id}/pkcs12`)
  secret('the password of a PKCS#12 file', password)
}

/** The keys that never leave the service: those of signers and CAs. */
const keysOfService = async (): Promise<void> => {
  const em = service.orm.em.fork()
  const seal = new Seal(parseKeys(service.started.secrets.masterKeys))
  for (const [index, row] of (await em.find(PolicySigner, {})).entries()) {
    const { der } = await em.findOneOrFail(Certificate, row.certificateId)
    const spki = parseCertificate(der).publicKeySpki
    secrets.set(`the key of signer ${index}`, partOfKey(await openSignerKey(em, seal, { row, spki })))
  }
  const { issuingCaId } = await em.findOneOrFail(CertificateProvider, { name: 'Built-in CA' })
  secrets.set('the key of the CA', partOfKey((await openCaSigner(em, seal, issuingCaId ?? '')).key))
}

const live = async (): Promise<void> => {
  const { id: realmId } = await must('POST', '/realms', { name: 'Branches' })
  const [open, careful] = [await makePolicy(realmId, false), await makePolicy(realmId, true)]
  const usual = await startGateway('usual', { realmId, policyId: open })
  const slow = await startGateway('careful', { realmId, policyId: careful })
  const password = secret('the static password', 'one: for all of them')
  const shared = await startGateway('shared', { realmId, policyId: open }, { SCEP_STATIC_PASSWORD: password })
  await byPassword(usual)
  await byChallenge(usual)
  await byStaticPassword(shared, password)
  await byApproval(slow)
  await overRest(usual)
  await overCmp(usual)
  await byServer(usual)
  await keysOfService()
}

/** What was written last stands in the write-ahead log of a database, which counts as the database. */
const filesIn = (folder: string): Place[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(path => /\.(log|db|db-wal)$/.test(path))
    .map(path => fileOf(join(folder, path)))
    .map(({ name, text }) => ({ name: name.replace(/-wal$/, ''), text }))

const collect = async (): Promise<Place[]> => {
  const { config } = service.started
  const ports = [config.API_METRICS_PORT, config.WORKER_METRICS_PORT]
  const urls = [...ports.map(port => `http://127.0.0.1:${port}/metrics`), ...metrics]
  const connection = await Temporal.connect({ address: service.running.temporal.address })
  const client = new Client({ connection, namespace: temporalNamespace })
  const runs = await runsOf(client, parseKeys(service.started.secrets.payloadKeys))
  await connection.close()
  return [
    ...(await tablesOf(service.orm.em.fork())),
    ...runs,
    ...filesIn(service.folder),
    { name: 'errors', text: errors.join('\n') },
    { name: 'answers of CMP', text: answers.join('\n') },
    ...(await Promise.all(
      urls.map(async (url, index) => ({ name: `metrics ${index}`, text: await (await fetch(url)).text() })),
    )),
  ]
}

test('every secret of every kind was noted', () => {
  expect(secrets.size).toBeGreaterThan(25)
})

test('none of them stands anywhere', () => {
  const found = [...secrets].map(([name, text]) => [name, placesOf(places, text)] as const)
  expect(found.filter(([, where]) => where.length > 0)).toEqual([])
})

describe('the same search finds what is stored on purpose', () => {
  test('the name of a device: as text, in a PKCS#10 request and a certificate, in events, and in no log', () => {
    const found = placesOf(places, canary)
    const tables = ['end_entity', 'cert_request', 'certificate', 'audit_event'].map(name => `table ${name}`)
    expect(found).toEqual(expect.arrayContaining(tables))
    expect(found.filter(name => name.endsWith('.log'))).toEqual([])
  })

  test.each([
    ['the transaction id of a device', () => seen.transactionId, ['scep-gateway.log']],
    [
      'the id of a request',
      () => seen.certRequestId,
      ['run of certRequest', 'run of certRequest, decoded', 'temporal.db', 'api.log'],
    ],
    ['the name of an operation', () => 'authorizeWithEEidAndPassword', ['metrics 0', 'api.log']],
    ['the name of an activity', () => 'makeSigner', ['run of makeSigner']],
    ['a code', () => 'INVALID_PKCS10', ['errors']],
    ['a code of CMP', () => 'SIGNING_REFUSED', ['errors']],
    ['the signer of CMP', () => 'CMP signer Policy', ['table end_entity', 'table audit_event']],
    ['what CMP answers', () => 'signerCertificatePem', ['answers of CMP']],
    ['a name of the worker', () => 'the worker is ready', ['worker.log']],
    ['a name of what the gateway measures', () => 'certwright_scep_seconds', ['metrics 2', 'metrics 3', 'metrics 4']],
  ])('%s', (_, text, expected) => {
    expect(placesOf(places, text())).toEqual(expect.arrayContaining(expected))
  })

  test('in every form', async () => {
    const { privateKeyPkcs8 } = await rsaKeys()
    const key = createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' })
    const forms: Record<string, string> = {
      pem: key.export({ format: 'pem', type: 'pkcs8' }),
      json: JSON.stringify({ key: key.export({ format: 'pem', type: 'pkcs8' }) }),
      hex: `\\x00${privateKeyPkcs8.toString('hex')}`,
      der: `log ${privateKeyPkcs8.toString('latin1')}`,
      base64: Buffer.concat([Buffer.alloc(1), privateKeyPkcs8]).toString('base64'),
      base64url: privateKeyPkcs8.toString('base64url'),
      jwk: JSON.stringify(key.export({ format: 'jwk' })),
    }
    const written = Object.entries(forms).map(([name, text]) => ({ name, text }))
    expect(placesOf(written, partOfKey(key))).toEqual(Object.keys(forms))
    const word = 'Pass"word\\1ü'
    const words = [word, JSON.stringify(word), JSON.stringify(JSON.stringify(word)), encodeURIComponent(word)]
    const encoded = words.map(text => ({ name: text, text }))
    const bmp = { name: 'bmp', text: Buffer.from(word, 'utf16le').swap16().toString('hex') }
    expect(placesOf([...encoded, bmp], word)).toEqual([...words, 'bmp'])
  })
})
