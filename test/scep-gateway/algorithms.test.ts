// Which algorithms devices may speak by, through the gateway and the service's keys; scep.md section 7, cases 29 and 30.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { octetString, printableString } from '../../pki/asn1/der.ts'
import { readWholeBer } from '../../pki/asn1/ber.ts'
import { parseCertificate } from '../../pki/certificate/certificate.ts'
import { type ContentCipherName, contentCiphers, type DigestName, digests } from '../../pki/cms/algorithms.ts'
import { readBag } from '../../pki/cms/degenerate.ts'
import type { KeyTransport } from '../../pki/cms/key-transport.ts'
import { openEnvelopedData } from '../../pki/cms/opening.ts'
import { verifySignedData } from '../../pki/cms/signature.ts'
import { readSignedData } from '../../pki/cms/signed-data.ts'
import { parsePkcs10 } from '../../pki/pkcs10.ts'
import type { RequestAlgorithms } from '../../pki/scep/client.ts'
import { readConfig } from '../../scep-gateway/config.ts'
import { type Crafted, craftRequest } from '../pki/scep-exchange.ts'
import { byMd5 } from '../pki/scep-md5.ts'
import { closing } from '../support/closing.ts'
import { certificatesIn, connect, csrOf, type Device, enrolled } from '../support/scep-device.ts'
import { newDevice, postMessage, rsaKeys } from '../support/scep-device.ts'
import { makeScepScene, startGateway, type TestGateway } from '../support/scep-gateway.ts'
import { partyOf } from '../support/scep-setting.ts'
import { type Scene, type Service, startService } from '../support/service.ts'

const kept = closing(afterAll)
let service: Service
let scene: Scene
let gateway: TestGateway
let insecure: TestGateway
let device: Device
let signers: readonly Buffer[]
let pkcs10: Buffer
const name = `device-${randomUUID().slice(0, 8)}.example.org`

beforeAll(async () => {
  service = kept(await startService())
  scene = await makeScepScene(service)
  gateway = kept(await startGateway(service, scene))
  insecure = kept(await startGateway(service, scene, { properties: { 'scep.insecure-algorithms': 'true' } }))
  const keys = await rsaKeys()
  const endEntityId = await scene.newEndEntity({ commonName: name })
  const made = await scene.owner.post('/api/v1/end-entity-passwords', { endEntityId, policyId: scene.policyId })
  const challengePassword = `${endEntityId}:${made.body.password}`
  const newcomer = await connect(gateway.scepUrl, await newDevice(name, keys))
  signers = newcomer.signers
  const first = await newcomer.ask({ messageType: 'PKCSReq', content: await csrOf(name, keys, { challengePassword }) })
  device = enrolled(name, keys, certificatesIn(first)[0] as Buffer)
  pkcs10 = await csrOf(name, await rsaKeys())
})

// One request under one transaction id: the gateway issues once and answers every message by its own algorithms.
const ask = async ({ scepUrl }: TestGateway, algorithms: RequestAlgorithms) =>
  (await connect(scepUrl, device)).ask({
    messageType: 'RenewalReq',
    transactionId: 'matrix',
    content: pkcs10,
    algorithms,
  })

/** The key of the certificate that the device asks for, DER. */
const wanted = (): Buffer => parsePkcs10(pkcs10).publicKeySpki

const pairs = (Object.keys(contentCiphers) as ContentCipherName[]).flatMap(cipher =>
  (Object.keys(digests) as DigestName[]).map(digest => ({ cipher, digest })),
)
const transports: readonly KeyTransport[] = ['PKCS1', { oaep: 'SHA-1' }, { oaep: 'SHA-256' }]
const rows = pairs.flatMap(pair =>
  (['PKCS1', 'PSS'] as const).flatMap(scheme => transports.map(transport => ({ ...pair, scheme, transport }))),
)

test.each(rows)('scep case 30: $cipher, $digest, $scheme, $transport', async algorithms => {
  const reply = await ask(gateway, algorithms)
  const { cipher, digest } = algorithms
  expect(reply).toMatchObject({ status: 'SUCCESS', digest, contentCipher: cipher })
  expect(parseCertificate(certificatesIn(reply)[0] as Buffer).publicKeySpki).toEqual(wanted())
})

/** Sends a message and answers what the reply says, whoever may read it. */
const answerTo = async (to: TestGateway, message: Buffer) => {
  const response = await postMessage(to.scepUrl, message)
  const reply = readWholeBer(Buffer.from(await response.arrayBuffer()), readSignedData)
  const content = reply.content ?? Buffer.alloc(0)
  const { digest } = verifySignedData({ ...reply, content, certificates: signers })
  return { digest: digest.name, content }
}

/** Sends a request by MD5. */
const askByMd5 = (to: TestGateway) => {
  const [certificate] = signers as [Buffer]
  return answerTo(to, byMd5({ content: pkcs10, cipher: 'DES-CBC' }, device, { certificate }))
}

describe('without legacy algorithms', () => {
  let modern: TestGateway
  beforeAll(async () => {
    modern = kept(await startGateway(service, scene, { properties: { 'scep.legacy-algorithms': 'false' } }))
  })

  test.each(pairs)('$cipher with $digest is taken unless it is DES3 or SHA-1', async pair => {
    const { status, failInfo } = await ask(modern, pair)
    const isLegacy = pair.cipher === 'DES-EDE3-CBC' || pair.digest === 'SHA-1'
    expect([status, failInfo]).toEqual(isLegacy ? ['FAILURE', 'badAlg'] : ['SUCCESS', null])
  })

  const bySha1 = (parts: Crafted = {}) => craftRequest({ digest: 'SHA-1', ...parts }, partyOf(device), partyOf(device))
  test.each<[string, () => Buffer | Promise<Buffer>]>([
    ['that is right', () => bySha1()],
    [
      'whose signature is wrong',
      async () => {
        const der = await bySha1()
        der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
        return der
      },
    ],
    ['without a nonce', () => bySha1({ attributes: { senderNonce: [] } })],
    ['with a nonce of 3 octets', () => bySha1({ attributes: { senderNonce: [octetString(Buffer.alloc(3))] } })],
    ['of messageType 99', () => bySha1({ attributes: { messageType: [printableString('99')] } })],
    ['with an envelope that is none', () => bySha1({ envelope: Buffer.from('none') })],
  ])('a message by SHA-1 %s is answered by SHA-256', async (_, make) => {
    expect(await answerTo(modern, await make())).toEqual({ digest: 'SHA-256', content: Buffer.alloc(0) })
  })

  test('a message by MD5 is answered by SHA-256', async () => {
    expect(await askByMd5(modern)).toEqual({ digest: 'SHA-256', content: Buffer.alloc(0) })
  })
})

describe('scep case 29: DES and MD5', () => {
  test('are badAlg, unless they are switched on; then the reply is by DES and SHA-1', async () => {
    const refused = await askByMd5(gateway)
    expect([refused.digest, refused.content.length]).toEqual(['SHA-1', 0])
    expect(gateway.logged()).toMatch(/"outcome":"FAILURE","failInfo":"badAlg","reason":"The algorithm MD5 is not/)
    const { digest, content } = await askByMd5(insecure)
    const opened = openEnvelopedData(content, [device], { insecureAlgorithms: true })
    expect([digest, opened.contentCipher]).toEqual(['SHA-1', 'DES-CBC'])
    const [leaf] = readBag(opened.content).certificates
    expect(parseCertificate(leaf as Buffer).publicKeySpki).toEqual(wanted())
    expect(insecure.logged()).toMatch(/"cipher":"DES-CBC","digest":"MD5","outcome":"SUCCESS"/)
  })

  test('an envelope by DES alone is badAlg', async () => {
    const { status, failInfo } = await ask(gateway, { cipher: 'DES-CBC', digest: 'SHA-256' })
    expect([status, failInfo]).toEqual(['FAILURE', 'badAlg'])
  })

  test('are announced by no gateway', async () => {
    for (const { scepUrl } of [gateway, insecure]) {
      const text = await (await fetch(`${scepUrl}?operation=GetCACaps`)).text()
      expect(text.split('\n')).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(DES|DES-CBC|MD5)$/)]))
    }
  })

  test('need legacy algorithms, which they are worse than', () => {
    const access = ['base-url', 'token-url', 'client-id', 'client-secret'].map(
      key => `scep.service.${key}=http://x.test`,
    )
    const read = (legacy: string) => {
      const lines = [...access, 'scep.insecure-algorithms=true', `scep.legacy-algorithms=${legacy}`]
      return readConfig(lines.join('\n'), {})
    }
    expect(read('true')).toMatchObject({ 'scep.insecure-algorithms': true })
    expect(() => read('false')).toThrow('scep.insecure-algorithms needs scep.legacy-algorithms')
  })
})
