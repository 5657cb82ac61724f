// Generated and given keys: their description, their form, their strength.
import { createPrivateKey, createPublicKey, generatePrimeSync } from 'node:crypto'
import { afterAll, expect, test } from '@jest/globals'
import { pow as power } from '@noble/curves/abstract/modular.js'
import { findKeyAlgorithm, keyAlgorithmOf, type KeyAlgorithm } from '../../pki/keys/algorithms.ts'
import { primesUpTo } from '../../pki/keys/big-number.ts'
import { bitString, derNull, integer, oid, sequence } from '../../pki/asn1/der.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { checkKeyStrength } from '../../pki/keys/key-strength.ts'
import { describePublicKey, getPublicKeyAlgorithm, keyIdentifier } from '../../pki/keys/public-key.ts'
import { failureCode } from './failing.ts'
import { judgedByOpenssl, openssl, Workbench } from './openssl.ts'

const bench = new Workbench()
afterAll(() => bench.clear())

const rows = judgedByOpenssl.map(algorithm => [algorithm.name, algorithm] as const)

test.each(rows)(
  'a new %s key pair belongs together, is described and strong, and openssl agrees',
  async (_, algorithm) => {
    const { publicKeySpki, privateKeyPkcs8 } = await generateKeyPair(algorithm.spec)
    const path = await bench.file(privateKeyPkcs8)
    const { output } = await openssl('pkey', '-inform', 'DER', '-in', path, '-pubout', '-outform', 'DER')
    expect(output.equals(publicKeySpki)).toBe(true)
    expect(describePublicKey(publicKeySpki).algorithm).toBe(algorithm)
    expect(keyAlgorithmOf(createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' }))).toBe(algorithm)
    await checkKeyStrength(publicKeySpki)
  },
)

test.each([
  ['2048', { cryptoAlgorithm: 'RSA', keySize: 2048, namedCurve: null }],
  ['SECP384R1', { cryptoAlgorithm: 'EC', keySize: null, namedCurve: 'SECP384R1' }],
  ['ED448', { cryptoAlgorithm: 'EDDSA', keySize: null, namedCurve: 'ED448' }],
])('a %s key is described by algorithm, size and curve', async (detail, expected) => {
  const algorithm = findKeyAlgorithm(Number(detail) || detail) as KeyAlgorithm
  const { publicKeySpki } = await generateKeyPair(algorithm.spec)
  expect(describePublicKey(publicKeySpki)).toEqual({ ...expected, algorithm })
})

const opensslKey = async (...args: readonly string[]) => {
  const path = await bench.newPath()
  await openssl('genpkey', ...args, '-outform', 'DER', '-out', path)
  return (await openssl('pkey', '-inform', 'DER', '-in', path, '-pubout', '-outform', 'DER')).output
}

test('keys of other sizes and curves are described but are none of the table', async () => {
  const rsa1024 = await opensslKey('-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:1024')
  expect(describePublicKey(rsa1024)).toMatchObject({ cryptoAlgorithm: 'RSA', keySize: 1024, algorithm: null })
  const brainpool = await opensslKey('-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:brainpoolP256r1')
  expect(describePublicKey(brainpool)).toMatchObject({ cryptoAlgorithm: 'EC', algorithm: null })
  for (const key of [rsa1024, brainpool])
    expect(failureCode(() => getPublicKeyAlgorithm(key))).toBe('CRYPTO_RESTRICTION_VIOLATION')
})

test('keys of other algorithms are CRYPTO_RESTRICTION_VIOLATION', async () => {
  for (const algorithm of ['X25519', 'RSA-PSS']) {
    const key = await opensslKey('-algorithm', algorithm)
    expect(failureCode(() => describePublicKey(key))).toBe('CRYPTO_RESTRICTION_VIOLATION')
  }
})

const rsaAlgorithm = sequence(oid('1.2.840.113549.1.1.1'), derNull)
const rsaKey = (modulus: bigint, exponent: bigint) =>
  sequence(rsaAlgorithm, bitString(sequence(integer(modulus.toString(16)), integer(exponent.toString(16)))))

const ecKey = (point: Buffer) =>
  sequence(sequence(oid('1.2.840.10045.2.1'), oid('1.2.840.10045.3.1.7')), bitString(point))

const p256Point = async () => {
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve: 'SECP256R1' })
  return Buffer.from(publicKeySpki.subarray(-65))
}

test('what is no canonical SubjectPublicKeyInfo is INVALID_PUBLIC_KEY', async () => {
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  const point = await p256Point()
  const compressed = Buffer.concat([Buffer.of(2 + ((point[64] ?? 0) & 1)), point.subarray(1, 33)])
  expect(createPublicKey({ key: ecKey(compressed), format: 'der', type: 'spki' }).asymmetricKeyType).toBe('ec')
  const malformed = [
    Buffer.alloc(0),
    Buffer.from('hello'),
    publicKeySpki.subarray(0, -1),
    Buffer.concat([publicKeySpki, Buffer.of(0)]),
    ecKey(compressed),
    ecKey(point.subarray(0, 64)),
    sequence(sequence(oid('1.2.840.113549.1.1.1')), bitString(sequence(integer(15), integer(3)))),
    sequence(rsaAlgorithm, bitString(sequence(integer(15)))),
    sequence(sequence(oid('1.3.101.112')), bitString(Buffer.alloc(31))),
  ]
  for (const key of malformed) expect(failureCode(() => describePublicKey(key))).toBe('INVALID_PUBLIC_KEY')
})

const prime = (bits: number) => generatePrimeSync(bits, { bigint: true })
const isPrime = (candidate: bigint) => power(2n, candidate - 1n, candidate) === 1n

const nextPrime = (start: bigint, step = 2n): bigint => {
  let candidate = start
  while (!isPrime(candidate)) candidate += step
  return candidate
}

// The generator of CVE-2017-15361: k·M + (65537^a mod M), M the product of the first 126 primes.
const rocaPrime = (): bigint => {
  const product = primesUpTo(701).reduce((all, next) => all * next, 1n)
  return nextPrime((prime(50) << 8n) * product + power(65_537n, prime(60), product), product)
}

const closeStart = prime(1024)

test.each<[string, () => bigint, bigint, string]>([
  ['with the exponent 3', () => prime(1024) * prime(1024), 3n, 'below 65537'],
  ['with an even exponent', () => prime(1024) * prime(1024), 65_538n, 'even'],
  ['with a factor of 3', () => prime(1024) * prime(1022) * 3n, 65_537n, 'small factor'],
  ['with a factor of 751', () => prime(1024) * prime(1014) * 751n, 65_537n, 'small factor'],
  ['with the ROCA fingerprint', () => rocaPrime() * rocaPrime(), 65_537n, 'ROCA'],
  ['of close primes', () => closeStart * nextPrime(closeStart + 2n), 65_537n, 'close together'],
  ['of one prime squared', () => closeStart * closeStart, 65_537n, 'close together'],
])('an RSA key %s is WEAK_KEY', async (...[, modulus, exponent, finding]) => {
  const refused = await checkKeyStrength(rsaKey(modulus(), exponent)).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'WEAK_KEY', message: expect.stringContaining(finding) })
})

test('an odd exponent above 65537 is not weak', async () => {
  const modulus = prime(1024) * prime(1024)
  await checkKeyStrength(rsaKey(modulus, 65_539n))
})

test('a point beside its curve is WEAK_KEY', async () => {
  const point = await p256Point()
  point[64] = (point[64] ?? 0) ^ 1
  await expect(checkKeyStrength(ecKey(point))).rejects.toMatchObject({ code: 'WEAK_KEY' })
  await expect(checkKeyStrength(ecKey(Buffer.concat([Buffer.of(4), Buffer.alloc(64)])))).rejects.toMatchObject({
    code: 'WEAK_KEY',
  })
})

test.each(['SECP384R1', 'SECP521R1'] as const)('a point beside %s is WEAK_KEY', async ecNamedCurve => {
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'EC', ecNamedCurve })
  const key = Buffer.from(publicKeySpki)
  key[key.length - 1] = (key.at(-1) ?? 0) ^ 1
  await expect(checkKeyStrength(key)).rejects.toMatchObject({ code: 'WEAK_KEY' })
})

const edKey = (y: string) => sequence(sequence(oid('1.3.101.112')), bitString(Buffer.from(y.padEnd(64, '0'), 'hex')))

// Orders 1, 2, 4 and 8, a y that has no x, and a y that is not reduced.
test.each([
  '01',
  `ec${'ff'.repeat(30)}7f`,
  '00',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  '02',
  `f0${'ff'.repeat(30)}7f`,
])('the Ed25519 point %s is WEAK_KEY', async y => {
  await expect(checkKeyStrength(edKey(y))).rejects.toMatchObject({ code: 'WEAK_KEY' })
})

// Orders 1, 2 and 4, a y that has no x, and a y that is not reduced.
test.each(['01', `${'fe'.padEnd(56, 'f')}fe${'ff'.repeat(27)}`, '00', '02', `${'ff'.repeat(28)}fe${'ff'.repeat(27)}`])(
  'the Ed448 point %s is WEAK_KEY',
  async y => {
    const key = sequence(sequence(oid('1.3.101.113')), bitString(Buffer.from(y.padEnd(114, '0'), 'hex')))
    await expect(checkKeyStrength(key)).rejects.toMatchObject({ code: 'WEAK_KEY' })
  },
)

test('the key identifier is the leftmost 160 bits of SHA-256 over the key', async () => {
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'EDDSA', edDSANamedCurve: 'ED25519' })
  const path = await bench.file(publicKeySpki.subarray(-32))
  const { output } = await openssl('dgst', '-sha256', '-binary', path)
  expect(keyIdentifier(publicKeySpki).equals(output.subarray(0, 20))).toBe(true)
})
