// PKCS#10 requests and keys of strangers: however they are armoured, hidden, signed or swollen (contract 1.1, 1.2, 5.4).
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { bitString, integer, oid, sequence, tlv } from '../../pki/asn1/der.ts'
import { readDer } from '../../pki/asn1/der-reader.ts'
import { encodePem } from '../../pki/pem.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import * as crafted from '../support/crafted-requests.ts'
import { ecKey, pkcs10, refusalOf, rsaKey, spkiOf } from '../support/issuing.ts'
import { makeScene, startService, type Scene, type Service } from '../support/service.ts'

const { attribute, craftRequest, extensionRequest, microsoftRequest, sanExtension } = crafted
const bench = new Workbench()
const name = 'calm.example.org'
let service: Service
let scene: Scene
let calm: string

beforeAll(async () => {
  service = await startService({ withoutWorker: true })
  scene = await makeScene(service)
  calm = await pkcs10(bench, ecKey(), { subject: `/CN=${name}`, names: `DNS:${name}` })
})
afterAll(async () => {
  await service.stop()
  await bench.clear()
})

const create = async (pkcs10ReqBase64: string) =>
  scene.owner.post('/api/v1/cert-requests', {
    policyId: scene.policyId,
    endEntityId: await scene.newEndEntity({ commonName: name, email: 'a@example.org' }),
    validFor: 'SIX_MONTHS',
    keyPairMode: 'PKCS10',
    pkcs10ReqBase64,
  })
const parse = (pkcs10ReqBase64: string) => scene.owner.post('/api/v1/pkcs10/parse', { pkcs10ReqBase64 })
const extract = (pkcs10Pem: string) =>
  service.anonymous.post('/api/v1/public/extract-end-entity-from-pkcs10', { pkcs10Pem })
const examine = async (pkcs10ReqBase64: string) =>
  scene.owner.put('/api/v1/cert-requests/examine-pkcs10-request', {
    policyId: scene.policyId,
    endEntityId: await scene.newEndEntity({ commonName: name, email: 'a@example.org' }),
    pkcs10ReqBase64,
  })

const pemOf = (base64: string, label = 'CERTIFICATE REQUEST') =>
  encodePem('PUBLIC KEY', Buffer.from(base64, 'base64')).replaceAll('PUBLIC KEY', label)

describe('text of requests', () => {
  test.each<[string, () => string | Promise<string>]>([
    ['Base64', () => calm],
    ['PEM', () => pemOf(calm)],
    ['the older label', () => pemOf(calm, 'NEW CERTIFICATE REQUEST')],
    ['text around the armour', () => `PKCS#10 Request:\n\tVersion: 1\n${pemOf(calm)}end\n`],
    ['a private key before it', () => pemOf('AAAA', 'PRIVATE KEY') + pemOf(calm)],
    [
      'what openssl req -text prints',
      async () => (await openssl('req', '-in', await bench.file(pemOf(calm)), '-text')).output.toString(),
    ],
  ])('is read everywhere: %s', async (_, textOf) => {
    const text = await textOf()
    expect((await create(text)).status).toBe(201)
    expect((await parse(text)).body).toMatchObject({ signatureValid: true, subjectDn: `CN=${name}` })
    expect((await examine(text)).body).toMatchObject({ valid: true })
    expect((await extract(text)).body).toMatchObject({ commonName: name })
  })

  test.each<[string, () => string]>([
    ['another label', () => pemOf(calm, 'CERTIFICATE')],
    ['no END line', () => pemOf(calm).replace(/-----END.*\n/, '')],
    ['60,000 CR in the armour', () => `-----BEGIN CERTIFICATE REQUEST-----${'\r'.repeat(60_000)}a:`],
    [
      '60,000 CR before the END line',
      () => `-----BEGIN CERTIFICATE REQUEST-----${'\r'.repeat(60_000)}a-----END CERTIFICATE REQUEST-----`,
    ],
    ['10,000 BEGIN lines', () => '-----BEGIN CERTIFICATE REQUEST-----'.repeat(5000)],
  ])('is refused everywhere: %s', async (_, textOf) => {
    for (const reply of [await create(textOf()), await parse(textOf()), await examine(textOf())])
      expect(refusalOf(reply)).toEqual([400, 'INVALID_REQUEST'])
    expect(refusalOf(await extract(textOf()))).toEqual([422, 'INVALID_PKCS10'])
  })
})

const cn = (value: Buffer) => [3, value] as const
const evil = 'evil.example.com'
const mail = '0.9.2342.19200300.100.1.3'
const innocent: crafted.Crafted['subject'] = [cn(crafted.utf8String(name))]

describe('a name that is hidden is PKCS10_MISMATCH', () => {
  test.each<[string, () => crafted.Crafted]>([
    [
      'in a second extension request',
      () => ({
        attributes: [
          attribute(extensionRequest, sequence(sanExtension(name))),
          attribute(extensionRequest, sequence(sanExtension(evil))),
        ],
      }),
    ],
    [
      'in a second value of its set',
      () => ({ attributes: [attribute(extensionRequest, sequence(sanExtension(name)), sequence(sanExtension(evil)))] }),
    ],
    [
      'in a second extension',
      () => ({ attributes: [attribute(extensionRequest, sequence(sanExtension(name), sanExtension(evil)))] }),
    ],
    ["in Microsoft's attribute", () => ({ attributes: [attribute(microsoftRequest, sequence(sanExtension(evil)))] })],
    [
      "in Microsoft's attribute beside the other",
      () => ({
        attributes: [
          attribute(extensionRequest, sequence(sanExtension(name))),
          attribute(microsoftRequest, sequence(sanExtension(name))),
        ],
      }),
    ],
    ['in an attribute of its own', () => ({ attributes: [attribute('2.5.29.17', sequence())] })],
    ['as UniversalString', () => ({ subject: [cn(crafted.universalString(evil))] })],
    ['as GeneralString', () => ({ subject: [...innocent, cn(crafted.generalString(evil))] })],
    ['as a number', () => ({ subject: [...innocent, cn(integer(5))] })],
    ['as an organization that is no text', () => ({ subject: [...innocent, [10, crafted.generalString('Evil')]] })],
    [
      'as an e-mail address that is no text',
      () => ({ subject: [['1.2.840.113549.1.9.1', crafted.universalString('b@example.org')]] }),
    ],
    [
      'as an e-mail address of a directory',
      () => ({ subject: [...innocent, [mail, crafted.utf8String('b@example.org')]] }),
    ],
    [
      'as an e-mail address of a directory that is no text',
      () => ({ subject: [...innocent, [mail, crafted.universalString('b@example.org')]] }),
    ],
    [
      'beside two challenge passwords',
      () => ({ attributes: [attribute('1.2.840.113549.1.9.7', crafted.utf8String('a'), crafted.utf8String('b'))] }),
    ],
  ])('%s', async (_, request) => {
    const base64 = (await craftRequest(ecKey(), { subject: innocent, ...request() })).toString('base64')
    expect(refusalOf(await create(base64))).toEqual([422, 'PKCS10_MISMATCH'])
    const { body } = await examine(base64)
    expect(body.valid).toBe(false)
    expect(body.mismatches.length).toBeGreaterThan(0)
  })

  test('but what the end entity has is fine, in whichever attribute', async () => {
    for (const type of [extensionRequest, microsoftRequest]) {
      const attributes = [attribute(type, sequence(sanExtension(name)))]
      const der = await craftRequest(ecKey(), { subject: innocent, attributes })
      expect((await create(der.toString('base64'))).status).toBe(201)
    }
  })

  test('and of thousands only the first twenty are told', async () => {
    const names = Array.from({ length: 3000 }, (_, index) => `h${index}.example.com`)
    const attributes = [attribute(extensionRequest, sequence(sanExtension(...names)))]
    const base64 = (await craftRequest(ecKey(), { subject: innocent, attributes })).toString('base64')
    expect((await examine(base64)).body.mismatches).toHaveLength(20)
  })

  test('a name of no known form is unreadable', async () => {
    const extension = sequence(oid('2.5.29.17'), tlv(0x04, sequence(tlv(0xa2, tlv(0x16, Buffer.from(evil))))))
    const der = await craftRequest(ecKey(), { attributes: [attribute(extensionRequest, sequence(extension))] })
    expect(refusalOf(await create(der.toString('base64')))).toEqual([422, 'INVALID_PKCS10'])
  })
})

const signedWith = async (key: KeyObject, ...options: string[]) => {
  const file = await bench.file(key.export({ type: 'pkcs8', format: 'pem' }))
  const made = await openssl('req', '-new', '-key', file, '-subj', `/CN=${name}`, '-outform', 'DER', ...options)
  return made.output.toString('base64')
}
const pss = (digest: string, mask: string, salt: string) =>
  [
    `-${digest}`,
    '-sigopt',
    'rsa_padding_mode:pss',
    '-sigopt',
    `rsa_mgf1_md:${mask}`,
    '-sigopt',
    `rsa_pss_saltlen:${salt}`,
  ] as const

describe('signatures and keys', () => {
  test.each<[string, () => KeyObject, readonly string[]]>([
    ['SHA256_WITH_RSASSA_PSS', rsaKey, pss('sha256', 'sha256', '32')],
    ['SHA512_WITH_RSASSA_PSS', rsaKey, pss('sha512', 'sha256', '20')],
    ['SHA1_WITH_RSASSA_PSS', rsaKey, pss('sha1', 'sha1', '20')],
    ['SHA512_256_WITH_RSA', rsaKey, ['-sha512-256']],
    ['SHA3_256_WITH_RSA', rsaKey, ['-sha3-256']],
    ['SHA3_512_WITH_ECDSA', ecKey, ['-sha3-512']],
  ])('%s is verified', async (signatureAlgorithm, keyOf, options) => {
    const base64 = await signedWith(keyOf(), ...options)
    expect((await parse(base64)).body).toMatchObject({ signatureAlgorithm, signatureValid: true })
    expect((await create(base64)).status).toBe(201)
    const spoilt = Buffer.from(base64, 'base64')
    spoilt[spoilt.length - 1] = (spoilt.at(-1) ?? 0) ^ 1
    expect((await parse(spoilt.toString('base64'))).body).toMatchObject({ signatureAlgorithm, signatureValid: false })
    expect(refusalOf(await create(spoilt.toString('base64')))).toEqual([422, 'INVALID_PKCS10'])
  })

  test('a signature under the OID of another kind of key is wrong', async () => {
    const [info, , signature] = readDer(Buffer.from(calm, 'base64')).children.map(({ raw }) => raw)
    const rsa = sequence(oid('1.2.840.113549.1.1.11'), Buffer.of(5, 0))
    const der = sequence(...[info, rsa, signature].filter(part => part !== undefined))
    expect((await parse(der.toString('base64'))).body).toMatchObject({
      signatureAlgorithm: 'SHA256_WITH_RSA',
      signatureValid: false,
    })
  })

  test.each<[string, () => KeyObject]>([
    ['DSA', () => generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 }).privateKey],
    ['RSASSA-PSS', () => generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey],
  ])('a %s key is CRYPTO_RESTRICTION_VIOLATION everywhere', async (_, keyOf) => {
    const base64 = await signedWith(keyOf())
    const restricted = [422, 'CRYPTO_RESTRICTION_VIOLATION']
    expect(refusalOf(await create(base64))).toEqual(restricted)
    expect(refusalOf(await parse(base64))).toEqual(restricted)
    expect(refusalOf(await extract(pemOf(base64)))).toEqual(restricted)
    expect((await examine(base64)).body.policyViolations).toMatchObject([{ apiError: 'CRYPTO_RESTRICTION_VIOLATION' }])
  })

  test.each([
    ['compressed', 'compressed', ['-conv_form', 'compressed']],
    ['explicit', 'explicit', ['-param_enc', 'explicit']],
  ])('an EC key in %s form is refused with a text that says so', async (_, word, options) => {
    const file = await bench.file(ecKey().export({ type: 'sec1', format: 'pem' }))
    const key = await openssl('ec', '-in', file, ...options)
    const made = await openssl('req', '-new', '-key', await bench.file(key.output), '-subj', '/CN=a', '-outform', 'DER')
    const reply = await create(made.output.toString('base64'))
    expect(refusalOf(reply)).toEqual([422, 'INVALID_PUBLIC_KEY'])
    expect(reply.body.errorMessage).toContain(word)
  })
})

describe('size is judged first', () => {
  const bare = async (publicKey: Buffer) =>
    scene.owner.post('/api/v1/cert-requests', {
      policyId: scene.policyId,
      endEntityId: scene.endEntityId,
      validFor: 'SIX_MONTHS',
      keyPairMode: 'PUBLIC_KEY',
      publicKeyBase64: publicKey.toString('base64'),
    })
  const rsa = (modulus: Buffer) =>
    sequence(
      sequence(oid('1.2.840.113549.1.1.1'), Buffer.of(5, 0)),
      bitString(sequence(integer(modulus), integer(65_537))),
    )

  test('a key of more than 64 KiB is INVALID_PUBLIC_KEY, and a long one is a matter of restrictions', async () => {
    expect((await bare(Buffer.from(spkiOf(ecKey()), 'base64'))).status).toBe(201)
    expect(refusalOf(await bare(rsa(Buffer.alloc(66_000, 0x7f))))).toEqual([422, 'INVALID_PUBLIC_KEY'])
    expect(refusalOf(await bare(rsa(Buffer.alloc(60_000, 0x7f))))).toEqual([422, 'CRYPTO_RESTRICTION_VIOLATION'])
  })

  test('a request around such a key is examined', async () => {
    const key = createPublicKey(ecKey()).export({ type: 'spki', format: 'der' })
    const info = sequence(integer(0), sequence(), rsa(Buffer.alloc(60_000, 0x7f)), tlv(0xa0))
    const request = sequence(info, sequence(oid('1.2.840.113549.1.1.11'), Buffer.of(5, 0)), bitString(key))
    const { status, body } = await examine(request.toString('base64'))
    expect([status, body.valid, body.keySize]).toEqual([200, false, 479_999])
  })
})
