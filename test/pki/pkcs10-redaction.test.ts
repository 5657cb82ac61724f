// Secrets of PKCS#10 requests are taken out, and nothing else.
import { afterAll, expect, test } from '@jest/globals'
import { context, integer, oid, sequence, setOf, utf8String } from '../../pki/asn1/der.ts'
import { signDer } from '../../pki/certificate/signed.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { checkPkcs10, createPkcs10, parsePkcs10 } from '../../pki/pkcs10.ts'
import { isRedacted, withoutSecrets } from '../../pki/pkcs10-redaction.ts'
import { failureCode } from './failing.ts'
import { importKey, nameDer } from './hierarchy.ts'
import { openssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

const keys = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
const sans = [{ type: 'DNS', value: 'www.example.test' }] as const
const subject = { commonName: 'www.example.test' }
const secret = 'hush-hush-4711'
const make = (challengePassword?: string) => createPkcs10({ subject, sans, keys, challengePassword })

/** A request with these attributes, each with the secret as its value. */
const withAttributes = (...oids: readonly string[]) => {
  const attributes = oids.map(type => sequence(oid(type), setOf(utf8String(secret))))
  return signDer(sequence(integer(0), nameDer(subject), keys.publicKeySpki, context(0, ...attributes)), importKey(keys))
}

test('a request without secrets stays as it is, octet by octet', async () => {
  const others = await withAttributes('1.2.840.113549.1.9.2')
  for (const der of [await make(), others, await withAttributes()]) {
    expect(withoutSecrets(der)).toBe(der)
    expect(isRedacted(der)).toBe(false)
  }
})

test('the password goes, and the signature by which it could be guessed; names and key stay', async () => {
  const der = await make(secret)
  const redacted = withoutSecrets(der)
  expect(redacted.includes(secret)).toBe(false)
  expect(redacted.includes(der.subarray(-64))).toBe(false)
  expect(isRedacted(redacted)).toBe(true)
  const before = parsePkcs10(der)
  const { subjectDn, publicKeySpki, hasChallengePassword, sans: names } = parsePkcs10(redacted)
  expect({ subjectDn, publicKeySpki, names, hasChallengePassword }).toEqual({
    subjectDn: before.subjectDn,
    publicKeySpki: before.publicKeySpki,
    names: before.sans,
    hasChallengePassword: false,
  })
  const { text } = await openssl('req', '-in', await bench.file(redacted), '-inform', 'DER', '-noout', '-text')
  expect(text).toContain('DNS:www.example.test')
  expect(text).not.toMatch(/challenge/i)
})

test.each([
  ['challengePassword twice', ['1.2.840.113549.1.9.7', '1.2.840.113549.1.9.7']],
  ['otpChallenge', ['1.2.840.113549.1.9.16.2.56']],
  ['revocationChallenge', ['1.2.840.113549.1.9.16.2.57']],
  ['estIdentityLinking', ['1.2.840.113549.1.9.16.2.58']],
])('%s goes', async (_, oids) => {
  const der = await withAttributes(...oids)
  expect(der.includes(secret)).toBe(true)
  expect(withoutSecrets(der).includes(secret)).toBe(false)
})

test('what is redacted stays so, whatever the password was, and proves nothing to who reads it', async () => {
  const redacted = withoutSecrets(await make(secret))
  expect(withoutSecrets(redacted)).toBe(redacted)
  expect(withoutSecrets(await make('another'))).toEqual(redacted)
  expect(failureCode(() => checkPkcs10(redacted))).toBe('INVALID_PKCS10')
})

test('what is no request is not redacted', () => {
  expect(isRedacted(Buffer.from('none'))).toBe(false)
})
