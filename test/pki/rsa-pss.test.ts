// RSASSA-PSS signatures of PKCS#10 requests: every form of their parameters (RFC 4055 3.1), made without openssl's req.
import { expect, test } from '@jest/globals'
import { constants, createHash, generateKeyPairSync, type KeyObject, privateEncrypt, randomBytes } from 'node:crypto'
import { bitString, context, derNull, integer, oid, sequence } from '../../pki/asn1/der.ts'
import { parsePkcs10 } from '../../pki/pkcs10.ts'

const digestOids = {
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
  'sha512-224': '2.16.840.1.101.3.4.2.5',
  'sha512-256': '2.16.840.1.101.3.4.2.6',
  'sha3-256': '2.16.840.1.101.3.4.2.8',
  'sha3-512': '2.16.840.1.101.3.4.2.10',
} as const
type Digest = keyof typeof digestOids

const hash = (digest: Digest, ...parts: readonly Uint8Array[]) => {
  const made = createHash(digest)
  for (const part of parts) made.update(part)
  return made.digest()
}

const mask = (digest: Digest, seed: Buffer, length: number) => {
  const blocks: Buffer[] = []
  for (let counter = 0; Buffer.concat(blocks).length < length; counter++)
    blocks.push(hash(digest, seed, Buffer.from([0, 0, 0, counter])))
  return Buffer.concat(blocks).subarray(0, length)
}

/** What the signature is made with. */
interface Made {
  readonly digest: Digest
  readonly maskDigest: Digest
  readonly salt: number
}

// EMSA-PSS-ENCODE (RFC 8017 9.1.1) for a modulus of 2048 bits; openssl knows no SHA-3 here.
const signPss = (contents: Buffer, { digest, maskDigest, salt }: Made, key: KeyObject): Buffer => {
  const saltOctets = randomBytes(salt)
  const hashed = hash(digest, Buffer.alloc(8), hash(digest, contents), saltOctets)
  const block = Buffer.alloc(256 - hashed.length - 1)
  block[block.length - salt - 1] = 1
  saltOctets.copy(block, block.length - salt)
  const over = mask(maskDigest, hashed, block.length)
  for (const [at, octet] of over.entries()) block[at] = (block[at] ?? 0) ^ octet
  block[0] = (block[0] ?? 0) & 0x7f
  const encoded = Buffer.concat([block, hashed, Buffer.of(0xbc)])
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, encoded)
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const info = sequence(integer(0), sequence(), publicKey.export({ type: 'spki', format: 'der' }), context(0))

/** What the parameters say; an absent member is its default. */
interface Told {
  readonly digest?: Digest
  readonly maskDigest?: Digest
  readonly salt?: number
  readonly trailer?: number
  readonly generator?: string
  readonly withoutNull?: true
}

const parametersOf = ({ digest, maskDigest, salt, trailer, generator = '1.2.840.113549.1.1.8', withoutNull }: Told) => {
  const identifier = (name: Digest) => sequence(oid(digestOids[name]), ...(withoutNull ? [] : [derNull]))
  return sequence(
    ...(digest ? [context(0, identifier(digest))] : []),
    ...(maskDigest ? [context(1, sequence(oid(generator), identifier(maskDigest)))] : []),
    ...(salt === undefined ? [] : [context(2, integer(salt))]),
    ...(trailer === undefined ? [] : [context(3, integer(trailer))]),
  )
}

const isValid = (told: Told, made: Made, contents = info) => {
  const algorithm = sequence(oid('1.2.840.113549.1.1.10'), parametersOf(told))
  const signature = bitString(signPss(contents, made, privateKey))
  return parsePkcs10(sequence(info, algorithm, signature)).signatureValid
}

const sha256: Made = { digest: 'sha256', maskDigest: 'sha256', salt: 32 }
const defaults: Made = { digest: 'sha1', maskDigest: 'sha1', salt: 20 }

test.each<[string, Told, Made]>([
  ['all of them defaults', {}, defaults],
  ['defaults that are spelt out', { ...defaults, trailer: 1 }, defaults],
  ['the salt alone', { salt: 32 }, { ...defaults, salt: 32 }],
  ['the mask alone', { maskDigest: 'sha256' }, { ...defaults, maskDigest: 'sha256' }],
  ['no mask', { digest: 'sha256', salt: 32 }, { ...sha256, maskDigest: 'sha1' }],
  ['no salt', { digest: 'sha256', maskDigest: 'sha256' }, { ...sha256, salt: 20 }],
  ['digests without NULL', { ...sha256, withoutNull: true }, sha256],
  ['the trailer', { ...sha256, trailer: 1 }, sha256],
  ['an empty salt', { ...sha256, salt: 0 }, { ...sha256, salt: 0 }],
  ['the longest salt', { ...sha256, salt: 222 }, { ...sha256, salt: 222 }],
])('a signature is right under %s', (_, told, made) => {
  expect(isValid(told, made)).toBe(true)
  expect(isValid(told, made, Buffer.concat([info, Buffer.of(0)]))).toBe(false)
})

test.each(Object.keys(digestOids) as Digest[])('%s is read', digest => {
  const made = { digest, maskDigest: digest, salt: 33 }
  expect(isValid(made, made)).toBe(true)
  expect(isValid(made, made, Buffer.from('another'))).toBe(false)
})

test.each<[string, Told]>([
  ['another length of the salt', { ...sha256, salt: 20 }],
  ['another digest', { ...sha256, digest: 'sha384' }],
  ['another digest of the mask', { ...sha256, maskDigest: 'sha1' }],
  ['a trailer that there is not', { ...sha256, trailer: 2 }],
  ['a mask that there is not', { ...sha256, generator: '1.2.840.113549.1.1.9' }],
  ['a salt longer than the key', { ...sha256, salt: 30_000 }],
])('a signature is wrong under %s', (_, told) => {
  expect(isValid(told, sha256)).toBe(false)
})
