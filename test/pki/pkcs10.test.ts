// Making, reading and proving PKCS#10 requests.
import { afterAll, expect, test } from '@jest/globals'
import { generateKeyPair, type KeyPair } from '../../pki/keys/key-pair.ts'
import { decodePem, encodePem } from '../../pki/pem.ts'
import { checkPkcs10, createPkcs10, parsePkcs10 } from '../../pki/pkcs10.ts'
import { failureCode } from './failing.ts'
import { judgedByOpenssl, openssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

const subject = { commonName: 'www.example.test', organizationalUnit: 'Łab', organization: 'Acme', country: 'DE' }
const sans = [
  { type: 'DNS', value: 'www.example.test' },
  { type: 'IP', value: '192.0.2.1' },
  { type: 'IP', value: '2001:db8::1' },
  { type: 'EMAIL', value: 'ann@example.test' },
  { type: 'URI', value: 'urn:x' },
] as const

const rows = judgedByOpenssl.map(algorithm => [algorithm.name, algorithm] as const)
const ed25519 = () => generateKeyPair({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED25519' })

test.each(rows)('our %s request is right to openssl and to us', async (_, { spec, signature }) => {
  const keys = await generateKeyPair(spec)
  const der = await createPkcs10({ subject, sans, keys, challengePassword: 'Secret 1' })
  const path = await bench.file(encodePem('CERTIFICATE REQUEST', der))
  const { text } = await openssl('req', '-in', path, '-noout', '-verify', '-text')
  expect(text).toContain('verify OK')
  expect(text).toContain('challengePassword        :Secret 1')
  expect(text).toContain('DNS:www.example.test, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1')
  expect(checkPkcs10(der)).toMatchObject({
    subjectDn: 'CN=www.example.test,OU=Łab,O=Acme,C=DE',
    sans,
    signatureAlgorithm: signature.name,
    hasChallengePassword: true,
    challengePassword: 'Secret 1',
  })
})

const opensslRequest = async (keys: KeyPair, ...args: readonly string[]) => {
  const key = await bench.file(keys.privateKeyPkcs8)
  const request = ['req', '-new', '-keyform', 'DER', '-key', key, '-utf8', '-outform', 'DER']
  return (await openssl(...request, ...args)).output
}

test.each(rows)('a %s request of openssl is read and right', async (_, { spec }) => {
  const keys = await generateKeyPair(spec)
  const name = '/C=DE/O=Acme/OU=One/OU=Two/CN=Žofie/emailAddress=zofie@example.test'
  const san = 'subjectAltName=DNS:a.test,IP:2001:db8::2,email:b@c.test,otherName:1.2.3;UTF8:x'
  const parsed = checkPkcs10(await opensslRequest(keys, '-subj', name, '-addext', san))
  expect(parsed.publicKeySpki.equals(keys.publicKeySpki)).toBe(true)
  expect(parsed.subject).toEqual({
    commonNames: ['Žofie'],
    organizations: ['Acme'],
    organizationalUnits: ['One', 'Two'],
    countries: ['DE'],
    emailAddresses: ['zofie@example.test'],
  })
  expect(parsed.sans.map(({ type }) => type)).toEqual(['DNS', 'IP', 'EMAIL', 'OTHER'])
  expect(parsed.sans[1]?.value).toBe('2001:db8::2')
  expect(parsed).toMatchObject({ hasChallengePassword: false, challengePassword: null })
})

test('a request without attributes has neither names nor password', async () => {
  const parsed = checkPkcs10(await createPkcs10({ subject: {}, sans: [], keys: await ed25519() }))
  expect(parsed).toMatchObject({ subjectDn: '', sans: [], hasChallengePassword: false })
})

test('a request with a wrong signature is described, but is no proof', async () => {
  const der = await createPkcs10({ subject, sans, keys: await ed25519() })
  const wrong = Buffer.from(der)
  wrong[der.length - 1] = (der.at(-1) ?? 0) ^ 1
  expect(parsePkcs10(wrong).signatureValid).toBe(false)
  expect(failureCode(() => checkPkcs10(wrong))).toBe('INVALID_PKCS10')
})

test("a request signed with another's key is no proof", async () => {
  const [own, other] = [await ed25519(), await ed25519()]
  const der = await createPkcs10({
    subject,
    sans,
    keys: { publicKeySpki: other.publicKeySpki, privateKeyPkcs8: own.privateKeyPkcs8 },
  })
  expect(failureCode(() => checkPkcs10(der))).toBe('INVALID_PKCS10')
})

test('what is no request, or has octets behind it, is INVALID_PKCS10', async () => {
  const keys = await ed25519()
  const der = await createPkcs10({ subject, sans, keys })
  const inputs = [Buffer.alloc(0), Buffer.from('x'), der.subarray(0, -1), Buffer.concat([der, Buffer.of(0)])]
  for (const input of [...inputs, keys.publicKeySpki])
    expect(failureCode(() => parsePkcs10(input))).toBe('INVALID_PKCS10')
})

test('every truncation and every flipped octet ends with an answer or INVALID_PKCS10', async () => {
  const der = await createPkcs10({ subject, sans, keys: await ed25519(), challengePassword: 'x' })
  for (let index = 0; index < der.length; index++) {
    const changed = Buffer.from(der)
    changed[index] = (der[index] ?? 0) ^ 0xff
    try {
      expect(parsePkcs10(changed).signatureValid).toBe(false)
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_PKCS10' })
    }
    expect(failureCode(() => parsePkcs10(der.subarray(0, index)))).toBe('INVALID_PKCS10')
  }
})

test('a PEM request is read through its armour', async () => {
  const der = await createPkcs10({ subject, sans, keys: await ed25519() })
  expect(decodePem(encodePem('CERTIFICATE REQUEST', der))).toEqual([{ label: 'CERTIFICATE REQUEST', der }])
})
