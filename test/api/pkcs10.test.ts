import { createPrivateKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { encodePem } from '../../pki/pem.ts'
import { openssl, Workbench } from '../pki/openssl.ts'
import { startApi, type Api, type ApiCaller, type Reply } from '../support/api.ts'
import { ecKey, pkcs10, refusalOf, rsaKey } from '../support/issuing.ts'

const bench = new Workbench()
let api: Api
let caller: ApiCaller

beforeAll(async () => {
  api = await startApi()
  caller = await api.user()
})
afterAll(async () => {
  await api.stop()
  await bench.clear()
})

const path = '/api/v1/pkcs10'
const publicPath = '/api/v1/public/extract-end-entity-from-pkcs10'
const ec = { cryptoAlgorithm: 'EC' }
const create = (subject: object, keyGenParamsDto: object = ec, members: object = {}): Promise<Reply> =>
  caller.post(path, { subject, keyGenParamsDto, ...members })
const parse = (pkcs10ReqBase64: string): Promise<Reply> => caller.post(`${path}/parse`, { pkcs10ReqBase64 })
const extract = (pkcs10Pem: string): Promise<Reply> => api.anonymous.post(publicPath, { pkcs10Pem })
const textOf = async (pem: string): Promise<string> => {
  const shown = ['-subject', '-nameopt', 'RFC2253,utf8,-esc_msb', '-verify', '-text']
  return (await openssl('req', '-noout', ...shown, '-in', await bench.file(pem))).text
}
/** The same request with another last octet, which is one of its signature. */
const spoiled = (base64: string): string => {
  const der = Buffer.from(base64, 'base64')
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1)
  return der.toString('base64')
}
const pemOf = (base64: string): string => encodePem('CERTIFICATE REQUEST', Buffer.from(base64, 'base64'))
const unreadable = [422, 'INVALID_PKCS10']

test.each([path, `${path}/`, `${path}/parse`])('POST %s asks for a token', async url => {
  expect((await api.anonymous.post(url, {})).status).toBe(401)
})

test.each([path, `${path}/parse`, publicPath])('POST %s takes JSON alone', async url => {
  const { status } = await caller.post(url, undefined, { raw: 'x', headers: { 'Content-Type': 'text/plain' } })
  expect(status).toBe(415)
  expect(refusalOf(await caller.post(url, {}))).toEqual([400, 'INVALID_REQUEST'])
})

describe('createPkcs10Request', () => {
  test.each<[object, RegExp]>([
    [{ cryptoAlgorithm: 'RSA' }, /Public-Key: \(2048 bit\)[^]*Signature Algorithm: sha256WithRSAEncryption/],
    [{ cryptoAlgorithm: 'RSA', keySize: 3072 }, /\(3072 bit\)[^]*Signature Algorithm: sha256WithRSAEncryption/],
    [{ cryptoAlgorithm: 'RSA', keySize: 4096 }, /\(4096 bit\)[^]*Signature Algorithm: sha256WithRSAEncryption/],
    [{ cryptoAlgorithm: 'EC', keySize: 1024 }, /NIST CURVE: P-256[^]*Signature Algorithm: ecdsa-with-SHA256/],
    [{ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP384R1' }, /P-384[^]*Signature Algorithm: ecdsa-with-SHA384/],
    [{ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP521R1' }, /P-521[^]*Signature Algorithm: ecdsa-with-SHA512/],
    [{ cryptoAlgorithm: 'EDDSA' }, /Public Key Algorithm: ED25519[^]*Signature Algorithm: ED25519/],
    [{ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED448' }, /Key Algorithm: ED448[^]*Signature Algorithm: ED448/],
  ])('makes what openssl verifies, with its key: %j', async (params, expected) => {
    const { status, body } = await create({ commonName: 'web-01' }, params)
    expect([status, Object.keys(body)]).toEqual([200, ['pkcs10ReqBase64', 'pkcs10Pem', 'pemPrivateKey']])
    expect(body.pkcs10Pem).toBe(pemOf(body.pkcs10ReqBase64))
    const text = await textOf(body.pkcs10Pem)
    expect(text).toContain('verify OK')
    expect(text).toMatch(expected)
    const asked = await openssl('req', '-in', await bench.file(body.pkcs10Pem), '-noout', '-pubkey')
    const held = await openssl('pkey', '-in', await bench.file(body.pemPrivateKey), '-pubout')
    expect(held.output.toString()).toBe(asked.output.toString())
    expect(body.pemPrivateKey).toMatch(/^-----BEGIN PRIVATE KEY-----\n/)
  })

  test('says subject, alternative names and challenge password', async () => {
    const { body } = await create(
      {
        commonName: 'Größe, "Maß"',
        organization: 'Example',
        organizationalUnit: 'Ops',
        country: 'de',
        externalId: 'A-4711',
        email: 'Ops@EXAMPLE.org',
        domains: ['WEB-01.example.org', 'bücher.example'],
        ips: ['192.0.2.10', '2001:DB8::0010'],
        genericDtoList: [{ key: 'room', value: 'B 12' }],
      },
      ec,
      { challengePassword: 's3cret & more' },
    )
    const text = await textOf(body.pkcs10Pem)
    expect(text).toMatch(/subject=CN=Größe\\, \\"Maß\\",OU=Ops,O=Example,C=DE\n/)
    expect(text).toMatch(
      /DNS:web-01\.example\.org, DNS:xn--bcher-kva\.example, IP Address:192\.0\.2\.10, IP Address:2001:DB8:0:0:0:0:0:10, email:Ops@example\.org/,
    )
    expect(text).toMatch(/challengePassword\s*:s3cret & more/)
    expect(text).not.toMatch(/A-4711|B 12/)
  })

  test('without alternative names and password it asks for neither', async () => {
    const text = await textOf((await create({ commonName: 'a' })).body.pkcs10Pem)
    expect(text).not.toMatch(/Subject Alternative Name|challengePassword/)
  })

  test('every key is new', async () => {
    const [one, two] = [await create({ commonName: 'a' }), await create({ commonName: 'a' })]
    expect(createPrivateKey(one.body.pemPrivateKey).equals(createPrivateKey(two.body.pemPrivateKey))).toBe(false)
  })

  test.each([512, 1024, 2047, 3000, 8192])('makes no RSA key of %i bits', async keySize => {
    const reply = await create({ commonName: 'a' }, { cryptoAlgorithm: 'RSA', keySize })
    expect(refusalOf(reply)).toEqual([422, 'CRYPTO_RESTRICTION_VIOLATION'])
    expect(reply.body.errorMessage).toContain(String(keySize))
  })

  test.each<[string, object]>([
    ['nothing that names it', { organization: 'x' }],
    ['a bad country', { commonName: 'a', country: 'XX' }],
    ['a long common name', { commonName: 'x'.repeat(65) }],
    ['a bad domain', { domains: ['no_good'] }],
    ['a bad address', { ips: ['1.2.3'] }],
    ['a bad e-mail', { email: 'nobody' }],
  ])('refuses %s', async (...[, subject]) => {
    expect(refusalOf(await create(subject))).toEqual([422, 'VALIDATION_FAILED'])
  })

  test.each<[string, object]>([
    ['an unknown algorithm', { keyGenParamsDto: { cryptoAlgorithm: 'DSA' } }],
    ['an unknown curve', { keyGenParamsDto: { cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256K1' } }],
    ['no key parameters', { keyGenParamsDto: undefined }],
    ['no subject', { subject: null }],
    ['a long password', { challengePassword: 'x'.repeat(256) }],
  ])('%s is malformed', async (...[, members]) => {
    expect(refusalOf(await create({ commonName: 'a' }, ec, members))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('parsePkcs10', () => {
  test('tells what the request says, but not its password', async () => {
    const subject = { commonName: 'web-01', organization: 'Example', country: 'DE', domains: ['web-01.example.org'] }
    const made = await create({ ...subject, ips: ['192.0.2.1'] }, ec, { challengePassword: 'hush-hush' })
    const { status, body } = await parse(made.body.pkcs10ReqBase64)
    expect(status).toBe(200)
    expect(body).toEqual({
      subjectDn: 'CN=web-01,O=Example,C=DE',
      subject: {
        ...subject,
        organizationalUnit: null,
        externalId: null,
        email: null,
        ips: ['192.0.2.1'],
        genericDtoList: [],
      },
      cryptoAlgorithm: 'EC',
      keySize: null,
      namedCurve: 'SECP256R1',
      publicKeyBase64: expect.any(String),
      signatureAlgorithm: 'SHA256_WITH_ECDSA',
      signatureValid: true,
      subjectAlternativeNames: [
        { type: 'DNS', value: 'web-01.example.org' },
        { type: 'IP', value: '192.0.2.1' },
      ],
      hasChallengePassword: true,
    })
    expect(JSON.stringify(body)).not.toContain('hush')
    const shown = await openssl('req', '-in', await bench.file(made.body.pkcs10Pem), '-noout', '-pubkey')
    expect(encodePem('PUBLIC KEY', Buffer.from(body.publicKeyBase64, 'base64'))).toBe(shown.output.toString())
  })

  test('reads what openssl makes, as Base64 and as PEM', async () => {
    const names = 'DNS:a.example.org,email:a@example.org,URI:https://example.org/'
    const base64 = await pkcs10(bench, rsaKey(1024), { subject: '/C=DE/CN=first/CN=second', names })
    for (const text of [base64, pemOf(base64), base64.replace(/.{50}/g, '$&\r\n')]) {
      const { status, body } = await parse(text)
      expect([status, body.keySize, body.namedCurve, body.signatureValid]).toEqual([200, 1024, null, true])
      expect([body.subjectDn, body.hasChallengePassword]).toEqual(['CN=second,CN=first,C=DE', false])
      expect(body.subject).toMatchObject({ commonName: 'second', email: 'a@example.org', domains: ['a.example.org'] })
      expect(body.subjectAlternativeNames).toContainEqual({ type: 'URI', value: 'https://example.org/' })
    }
  })

  test('a wrong signature is told in the answer', async () => {
    const { status, body } = await parse(spoiled(await pkcs10(bench, ecKey(), { subject: '/CN=a' })))
    expect([status, body.signatureValid, body.subjectDn]).toEqual([200, false, 'CN=a'])
  })

  test('an algorithm that is none of ours is refused', async () => {
    const key = await bench.newPath()
    await openssl('genpkey', '-algorithm', 'DSA', '-pkeyopt', 'dsa_paramgen_bits:1024', '-genparam', '-out', key)
    const own = await openssl('genpkey', '-paramfile', key)
    const file = await bench.file(own.output)
    const made = await openssl('req', '-new', '-key', file, '-subj', '/CN=a', '-outform', 'DER')
    expect(refusalOf(await parse(made.output.toString('base64')))).toEqual([422, 'CRYPTO_RESTRICTION_VIOLATION'])
  })

  test('what is no PKCS#10 request is unreadable', async () => {
    const base64 = await pkcs10(bench, ecKey(), { subject: '/CN=a' })
    const der = Buffer.from(base64, 'base64')
    for (const wrong of [
      der.subarray(0, -1),
      Buffer.concat([der, Buffer.of(0)]),
      Buffer.from('no DER'),
      Buffer.of(0x30, 0),
    ])
      expect(refusalOf(await parse(wrong.toString('base64')))).toEqual(unreadable)
    expect(refusalOf(await parse('not base64'))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('extractEndEntityInfoFromPemEncodedPkcs10', () => {
  test('needs no token and answers the data of an end entity', async () => {
    const names = 'DNS:a.example.org,DNS:b.example.org,IP:192.0.2.1,email:a@example.org'
    const base64 = await pkcs10(bench, ecKey(), { subject: '/C=DE/O=Example/OU=Ops/CN=web-01', names })
    const { status, body } = await extract(pemOf(base64))
    expect([status, body]).toEqual([
      200,
      {
        commonName: 'web-01',
        organization: 'Example',
        organizationalUnit: 'Ops',
        country: 'DE',
        externalId: null,
        email: 'a@example.org',
        domains: ['a.example.org', 'b.example.org'],
        ips: ['192.0.2.1'],
        genericDtoList: [],
      },
    ])
  })

  test('takes PEM of either name, with text or other blocks around it, and bare Base64', async () => {
    const base64 = await pkcs10(bench, ecKey(), { subject: '/CN=liberal' })
    const pem = pemOf(base64)
    const renamed = pem.replaceAll('CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST')
    const key = encodePem('PUBLIC KEY', Buffer.from('another block'))
    for (const text of [
      pem,
      renamed,
      pem.replaceAll('\n', '\r\n'),
      `Request:\n${pem}.`,
      key + pem,
      base64,
      `\n${base64}\n`,
    ])
      expect((await extract(text)).body.commonName).toBe('liberal')
  })

  test('a wrong signature is refused', async () => {
    const base64 = await pkcs10(bench, ecKey(), { subject: '/CN=a' })
    expect(refusalOf(await extract(pemOf(spoiled(base64))))).toEqual(unreadable)
  })

  test.each(['garbage', '-----BEGIN CERTIFICATE REQUEST-----', '%', 'AAAA'])('"%s" is unreadable', async text => {
    expect(refusalOf(await extract(text))).toEqual(unreadable)
  })

  test('nothing, and what is no text, is malformed', async () => {
    for (const pkcs10Pem of ['', null, undefined, 5, ['x']])
      expect(refusalOf(await api.anonymous.post(publicPath, { pkcs10Pem }))).toEqual([400, 'INVALID_REQUEST'])
  })
})
