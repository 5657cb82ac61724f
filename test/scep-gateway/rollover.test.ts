// Devices through the rollover of their CA (RFC 8894 4.7, contract 10.6): told before, served by both CAs after.
import { X509Certificate } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { readWholeBer } from '../../pki/asn1/ber.ts'
import { readSignedData } from '../../pki/cms/signed-data.ts'
import { openssl, tryOpenssl, Workbench } from '../pki/openssl.ts'
import type { ApiCaller } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { until } from '../support/issuing.ts'
import { adminOf, newProvider, rollOver, soon } from '../support/rollover.ts'
import { caCertificates, certificatesIn, connect } from '../support/scep-device.ts'
import { makeScepScene, rsaProvider, startGateway } from '../support/scep-gateway.ts'
import { enrolAt, enrolment, startScep, type ScepSetting } from '../support/scep-setting.ts'
import { rsaKeys } from '../support/scep-device.ts'

const kept = closing(afterAll)
const opened = closing(afterEach)
const bench = new Workbench()
let setting: ScepSetting
let admin: ApiCaller

beforeAll(async () => {
  setting = kept(await startScep())
  admin = await adminOf(setting.service)
})
afterAll(() => bench.clear())

const dayMs = 86_400_000
const open = async (certificateProviderId: string, members: object = {}) => {
  const scene = await makeScepScene(setting.service, { certificateProviderId, ...members })
  const gateway = opened(await startGateway(setting.service, scene))
  return { scene, gateway, url: gateway.scepUrl }
}
const ask = async (url: string, operation: string) => {
  const response = await fetch(`${url}?operation=${operation}`)
  const body = Buffer.from(await response.arrayBuffer())
  return { status: response.status, type: response.headers.get('content-type'), body }
}
const capabilities = async (url: string) =>
  String((await ask(url, 'GetCACaps')).body)
    .trim()
    .split('\n')

const pem = (der: Buffer | undefined) => bench.file(new X509Certificate(der ?? '').toString())

/** openssl takes the message for one of this CA below this root, below another root not, and finds the next CA in it. */
const signedAsCms = async (body: Buffer, { ca, root }: Record<'ca' | 'root', Buffer | undefined>): Promise<void> => {
  const content = await bench.newPath()
  const how = ['-verify', '-inform', 'DER', '-in', await bench.file(body), '-purpose', 'any', '-out', content]
  await openssl('cms', ...how, '-CAfile', await pem(root), '-certfile', await pem(ca))
  const { text } = await openssl('pkcs7', '-inform', 'DER', '-in', content, '-print_certs')
  expect(text).toMatch(/Issuing CA G2[^]*Root CA/)
  const [, , other] = await caCertificates(setting.gateway.scepUrl)
  expect((await tryOpenssl('cms', ...how, '-CAfile', await pem(other))).code).not.toBe(0)
}

/** The `cms` of openssl reads no EdDSA without signed attributes (RFC 8419 3.1 allows it): its signature alone is judged. */
const signedAsRaw = async (body: Buffer, ca: Buffer | undefined): Promise<void> => {
  const { content } = readWholeBer(body, readSignedData)
  const signature = await bench.file(body.subarray(-64))
  const key = new X509Certificate(ca ?? '').publicKey.export({ type: 'spki', format: 'pem' })
  const inputs = ['-in', await bench.file(content ?? ''), '-sigfile', signature]
  await openssl('pkeyutl', '-verify', '-rawin', '-pubin', '-inkey', await bench.file(key), ...inputs)
}

describe.each([
  ['EC', {}],
  ['RSA', { keyAlgorithm: 'RSA', keySize: 2048 }],
  ['P-384', { keyAlgorithm: 'EC', curve: 'SECP384R1' }],
  ['Ed25519', { keyAlgorithm: 'EDDSA' }],
])('a CA with a key of %s', (name, configuration) => {
  test('tells of the next CA while one is prepared, and openssl believes it', async () => {
    const provider = await newProvider(admin, configuration)
    const { url } = await open(provider.id)
    expect((await ask(url, 'GetNextCACert')).status).toBe(400)
    expect(await capabilities(url)).not.toContain('GetNextCACert')
    await rollOver(admin, provider, { takeOverDate: soon(dayMs) })
    await until('the gateway knows', async () => (await capabilities(url)).includes('GetNextCACert'))
    const { status, type, body } = await ask(url, 'GetNextCACert')
    expect([status, type]).toEqual([200, 'application/x-x509-next-ca-cert'])
    const [, ca, root] = await caCertificates(url)
    await (name === 'Ed25519' ? signedAsRaw(body, ca) : signedAsCms(body, { ca, root }))
    expect((await admin.delete(provider.url)).status).toBe(204)
    await until('the gateway forgets', async () => (await ask(url, 'GetNextCACert')).status === 400)
  })
})

test('a device that enrolled before the take-over renews after it, below the next CA', async () => {
  const provider = await newProvider(admin)
  const { scene, url } = await open(provider.id)
  const owner = await enrolAt(url, scene)
  await rollOver(admin, provider)
  const device = await until('the gateway tells the next CA', async () => {
    const [, ca] = await caCertificates(url)
    return new X509Certificate(ca ?? '').subject.endsWith(' G2') && connect(url, owner.device)
  })
  const reply = await device.ask(await enrolment(owner.name, await rsaKeys(), { messageType: 'RenewalReq' }))
  const [leaf, ca] = certificatesIn(reply)
  expect(new X509Certificate(leaf ?? '').checkIssued(new X509Certificate(ca ?? ''))).toBe(true)
  expect(new X509Certificate(ca ?? '').subject).toMatch(/ G2$/)
})

test('in mode CA a message for the CA of before is opened after the take-over', async () => {
  const id = await rsaProvider(setting.service)
  const provider = { id, url: `/api/v1/certificate-providers/${id}/rollover` }
  const { scene, url } = await open(id, { scepConfiguration: { signerMode: 'CA' } })
  const owner = await enrolAt(url, scene)
  const draft = await enrolment(owner.name, await rsaKeys(), { messageType: 'RenewalReq' })
  const message = await (await connect(url, owner.device)).write(draft)
  await rollOver(admin, provider)
  await until('the gateway tells the next CA', async () => {
    const [ca] = await caCertificates(url)
    return new X509Certificate(ca ?? '').subject.endsWith(' G2')
  })
  const reply = await (await connect(url, owner.device)).send(message)
  expect(new X509Certificate(certificatesIn(reply)[0] ?? '').issuer).toMatch(/ G2$/)
})
