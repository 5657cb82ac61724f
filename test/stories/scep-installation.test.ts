// A new installation of the SCEP gateway, the six steps of document 3: realm and policy, an API client, a certificate whose
// key is downloaded, the gateway as a process with `application.properties`, and a renewal with a new key over HTTPS.
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { gatewayReady } from '../../embedded/processes/application.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { startProcess, type RunningProcess } from '../../embedded/processes/process.ts'
import { Workbench } from '../pki/openssl.ts'
import { blocksOf, expectVerified, until } from '../support/issuing.ts'
import { startProcesses, type Processes } from '../support/processes.ts'

const root = join(import.meta.dirname, '../..')
const device = { commonName: 'router-1.example.org' }
const bench = new Workbench()
let service: Processes
let folder: string
let gateway: RunningProcess | undefined

beforeAll(async () => {
  service = await startProcesses()
  folder = mkdtempSync(join(tmpdir(), 'certwright-scep-'))
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  await service.stop()
  await bench.clear()
  rmSync(folder, { recursive: true, force: true })
}, 60_000)

const call = async (method: string, path: string, body?: object) => {
  const answer = await service.call(method, `/api/v1${path}`, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** A process of this checkout that sees no settings but its own. */
const run = (room: string, environment: Readonly<Record<string, string>>): RunningProcess =>
  startProcess({
    name: room,
    command: [process.execPath, join(root, room, 'main.ts')],
    folder,
    environment: { PATH: process.env['PATH'], ...environment },
    logFile: join(folder, `${room}.log`),
  })

const makePolicy = async (realmId: string): Promise<string> => {
  const provider = await until('the built-in CA is there', async () => {
    const { content } = await call('POST', '/certificate-providers/search', { simpleSearchTerm: 'Built-in CA' })
    return content[0]
  })
  const policy = {
    realmId,
    name: 'Routers',
    certificateProviderId: provider.id,
    certificateProviderConfiguration: '{"templateSignerName":"DEVICE"}',
    allowedKeyPairModes: ['SERVER_GEN', 'PKCS10'],
    scepConfiguration: {},
  }
  return (await call('POST', '/policies', policy)).id
}

/** Issues a certificate with a key of the service and downloads both into a folder. */
const installDevice = async (realmId: string, policyId: string): Promise<X509Certificate> => {
  const { id: endEntityId } = await call('POST', '/end-entities', { realmId, ...device })
  const { id: requestId } = await call('POST', '/cert-requests', {
    policyId,
    endEntityId,
    validFor: 'THREE_MONTHS',
    keyPairMode: 'SERVER_GEN',
    keyGenParamsDto: { cryptoAlgorithm: 'RSA', keySize: 2048 },
  })
  const { certificate, certificateChainPem } = await call('POST', `/certificates/cert-requests/${requestId}`)
  const { pemPrivateKey } = await call('GET', `/certificates/${certificate.id}/download-private-key`)
  mkdirSync(join(folder, 'device'))
  writeFileSync(join(folder, 'device/device.key'), pemPrivateKey)
  writeFileSync(join(folder, 'device/device.pem'), certificateChainPem.pemCertificate)
  return new X509Certificate(certificateChainPem.pemCertificate)
}

const startGateway = async ({ providerId, secret }: { providerId: string; secret: string }): Promise<string> => {
  const port = await freePort()
  const { baseUrl, tokenUrl } = service.started.addresses
  const properties = {
    'server.port': String(port),
    'server.address': '127.0.0.1',
    'scep.service.base-url': baseUrl,
    'scep.service.token-url': tokenUrl,
    'scep.service.client-id': providerId,
    'scep.service.client-secret': secret,
  }
  const lines = Object.entries(properties).map(([key, value]) => `${key}=${value}\n`)
  writeFileSync(join(folder, 'application.properties'), lines.join(''))
  gateway = run('scep-gateway', {})
  await gatewayReady(gateway, `https://127.0.0.1:${port}`)
  return `https://127.0.0.1:${port}/scep`
}

const publicKeyOf = (pem: string): string =>
  createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'pem' })

test('a device renews the certificate that it was installed with, with a new key', async () => {
  const { id: realmId } = await call('POST', '/realms', { name: 'Branches' })
  const policyId = await makePolicy(realmId)
  const client = await call('POST', '/api-clients', { name: 'Gateway', realmIds: [realmId], defaultPolicyId: policyId })
  const installed = await installDevice(realmId, policyId)
  const installedKey = readFileSync(join(folder, 'device/device.key'), 'utf8')
  const url = await startGateway(client)

  const { caChainPem } = await call('GET', `/scep/policies/${policyId}/configuration`)
  const renewal = run('scep-client', {
    SCEP_URL: url,
    SCEP_COMMON_NAME: device.commonName,
    SCEP_CA_FINGERPRINT: new X509Certificate(caChainPem).fingerprint256,
    SCEP_FOLDER: 'device',
  })
  await renewal.exited
  expect([renewal.succeeded(), renewal.lastLines()]).toEqual([true, expect.stringContaining('CN=router-1')])

  const chainPem = readFileSync(join(folder, 'device/device.pem'), 'utf8')
  const renewed = new X509Certificate(chainPem)
  await expectVerified(bench, chainPem)
  expect(blocksOf(chainPem)).toHaveLength(3)
  expect(renewed.subject).toBe(installed.subject)
  expect(renewed.serialNumber).not.toBe(installed.serialNumber)
  const key = readFileSync(join(folder, 'device/device.key'), 'utf8')
  expect(publicKeyOf(key)).not.toBe(publicKeyOf(installedKey))
  expect(renewed.checkPrivateKey(createPrivateKey(key))).toBe(true)
  expect(readFileSync(gateway?.logFile ?? '', 'utf8')).toContain('"messageType":"RenewalReq"')
}, 240_000)
