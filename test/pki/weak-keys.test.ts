// Keys whose private halves are known, and keys that are no product of two primes (contract 5.4 step 6).
import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  generatePrimeSync,
  getDiffieHellman,
} from 'node:crypto'
import { expect, test } from '@jest/globals'
import { bitString, derNull, integer, oid, sequence } from '../../pki/asn1/der.ts'
import { addKnownKeys } from '../../pki/keys/known-keys.ts'
import { generateKeyPair } from '../../pki/keys/key-pair.ts'
import { checkKeyStrength } from '../../pki/keys/key-strength.ts'

const codeOf = (spki: Buffer): Promise<string | null> =>
  checkKeyStrength(spki).then(
    () => null,
    (error: { code: string }) => error.code,
  )

const rsa = (modulus: bigint, exponent = 65_537n) =>
  sequence(
    sequence(oid('1.2.840.113549.1.1.1'), derNull),
    bitString(sequence(integer(modulus.toString(16)), integer(exponent.toString(16)))),
  )

const curves = { prime256v1: '1.2.840.10045.3.1.7', secp384r1: '1.3.132.0.34', secp521r1: '1.3.132.0.35' } as const
const octets = { prime256v1: 32, secp384r1: 48, secp521r1: 66 } as const

const ec = (curve: keyof typeof curves, scalar: string) => {
  const key = createECDH(curve)
  key.setPrivateKey(scalar.padStart(2 * octets[curve], '0'), 'hex')
  return sequence(sequence(oid('1.2.840.10045.2.1'), oid(curves[curve])), bitString(key.getPublicKey()))
}

const edwards = (prefix: string, seed: string) => {
  const key = createPrivateKey({ key: Buffer.from(prefix + seed, 'hex'), format: 'der', type: 'pkcs8' })
  return createPublicKey(key).export({ type: 'spki', format: 'der' })
}
const ed25519 = (seed: string) => edwards('302e020100300506032b657004220420', seed)
const ed448 = (seed: string) => edwards('3047020100300506032b6571043b0439', seed)

test.each<[string, keyof typeof curves, string]>([
  ['testECCP256 of RFC 9500', 'prime256v1', 'e6cb5bdd80aa45ae9c95e8c15476679ffec953c16851e711e743939589c64fc1'],
  ['RFC 6979 A.2.5', 'prime256v1', 'c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721'],
  ['the scalar 1', 'prime256v1', '1'],
  ['the scalar 64', 'secp384r1', '40'],
  ['the scalar 2', 'secp521r1', '2'],
  ['the largest scalar', 'prime256v1', 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550'],
  [
    'the largest scalar but 63',
    'secp384r1',
    'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52933',
  ],
])('the EC key of %s is WEAK_KEY', async (_, curve, scalar) => {
  expect(await codeOf(ec(curve, scalar))).toBe('WEAK_KEY')
})

test.each<[string, Buffer]>([
  ['RFC 8032 7.1', ed25519('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')],
  ['zeros', ed25519('00'.repeat(32))],
  ['zeros of Ed448', ed448('00'.repeat(57))],
])('the Edwards key of %s is WEAK_KEY', async (_, spki) => {
  expect(await codeOf(spki)).toBe('WEAK_KEY')
})

const testRSA2048 = `
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsPnoGUOnrpiSqt4XynxA
+HRP7S+BSObI6qJ7fQAVSPtRkqsotWxQYLEYzNEx5ZSHTGypibVsJylvCfuToDTf
Mul8b/CZjP2Ob0LdpYrNH6l5hvFE89FU1nZQF15oVLOpUgA7wGiHuEVawrGfey92
UE68mOyUVXGweJIVDdxqdMoPvNNUl86BU02vlBiESxOuox+dWmuVV7vfYZ79Toh/
LUK43YvJh+rhv4nKuF7iHjVjBd9sB6iDjj70HFldzOQ9r8SRI+9NirupPTkF5AKN
e6kUhKJ1luB7S27ZkvB3tSTT3P593VVJvnzOjaA1z6Cz+4+eRvcysqhrRgFlwI9T
EwIDAQAB`

test('testRSA2048 of RFC 9500 is WEAK_KEY', async () => {
  expect(await codeOf(Buffer.from(testRSA2048, 'base64'))).toBe('WEAK_KEY')
})

test('a modulus that is a prime is WEAK_KEY, and one that is a product is not', async () => {
  expect(await codeOf(rsa(generatePrimeSync(2048, { bigint: true })))).toBe('WEAK_KEY')
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  expect(await codeOf(publicKeySpki)).toBeNull()
})

const isPrecisely = (bits: number) => (number: bigint) => number.toString(2).length === bits

test.each([2, 3, 5])('a modulus that is a prime to the power of %d is WEAK_KEY', async power => {
  const primes = Array.from({ length: 100 }, () => generatePrimeSync(Math.ceil(2048 / power), { bigint: true }))
  const modulus = primes.map(prime => prime ** BigInt(power)).find(isPrecisely(2048))
  expect(await codeOf(rsa(modulus ?? 0n))).toBe('WEAK_KEY')
})

test('who sends primes holds nobody up: a calm key is judged before eight of them are', async () => {
  const prime = BigInt(`0x${getDiffieHellman('modp16').getPrime('hex')}`)
  const { publicKeySpki } = await generateKeyPair({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  const judged: (string | null)[] = []
  const judge = async (spki: Buffer) => void judged.push(await codeOf(spki))
  await Promise.all([...Array.from({ length: 8 }, () => judge(rsa(prime))), judge(publicKeySpki)])
  expect(judged).toEqual([null, ...Array.from({ length: 8 }, () => 'WEAK_KEY')])
})

test('an exponent of more than 256 bits is WEAK_KEY', async () => {
  const modulus = generatePrimeSync(1024, { bigint: true }) * generatePrimeSync(1024, { bigint: true })
  expect(await codeOf(rsa(modulus, 2n ** 256n + 1n))).toBe('WEAK_KEY')
  expect(await codeOf(rsa(modulus, 2n ** 255n + 1n))).toBeNull()
})

test('a modulus without end is not judged', async () => {
  expect(await codeOf(rsa(2n ** 400_000n + 1n))).toBeNull()
})

const entries: readonly [string, (spki: Buffer, modulus: string) => string][] = [
  ['a hash of its SubjectPublicKeyInfo', spki => createHash('sha256').update(spki).digest('hex').toUpperCase()],
  [
    "an entry of Debian's openssl-blacklist",
    (_, modulus) => createHash('sha1').update(`Modulus=${modulus}\n`).digest('hex').slice(-20),
  ],
  ['a hash of its modulus', (_, modulus) => createHash('sha256').update(modulus, 'hex').digest('hex')],
]

test.each(entries)('a key is WEAK_KEY once a list with %s is loaded', async (_, entryOf) => {
  const { publicKeySpki, privateKeyPkcs8 } = await generateKeyPair({ cryptoAlgorithm: 'RSA', keySize: 2048 })
  const key = createPrivateKey({ key: privateKeyPkcs8, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  const modulus = Buffer.from(String(key.n), 'base64url').toString('hex').toUpperCase()
  expect(await codeOf(publicKeySpki)).toBeNull()
  expect(addKnownKeys(`# RSA-2048\r\n\n${entryOf(publicKeySpki, modulus)}\r\n`)).toBe(1)
  expect(await codeOf(publicKeySpki)).toBe('WEAK_KEY')
})

test('an EC key is WEAK_KEY once a list with a hash of its x-coordinate is loaded, and an Edwards key is not', async () => {
  // The first scalar from here on whose x-coordinate begins with a zero, which is left out.
  const point = (scalar: bigint) => ec('prime256v1', scalar.toString(16))
  let scalar = 2n ** 200n
  while (point(scalar).at(-64) !== 0) scalar++
  const edwardsKey = ed25519('07'.repeat(32))
  expect(await codeOf(point(scalar))).toBeNull()
  const numbers = [point(scalar).subarray(-63, -32), edwardsKey.subarray(-32)]
  addKnownKeys(numbers.map(octetsOf => createHash('sha256').update(octetsOf).digest('hex')).join('\n'))
  expect(await codeOf(point(scalar))).toBe('WEAK_KEY')
  expect(await codeOf(edwardsKey)).toBeNull()
})

test.each(['nonsense', 'abcd', '0'.repeat(40), `${'a'.repeat(64)} b`])('%j is no entry of a list', line => {
  expect(() => addKnownKeys(`# a list\n${line}`)).toThrow('Line 2')
})
