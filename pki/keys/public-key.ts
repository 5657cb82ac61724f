// Public keys as DER SubjectPublicKeyInfo (RFC 5280 4.1.2.7): what they are and how they are identified.
import { hash } from 'node:crypto'
import type { CryptoAlgorithm, MlDsaParameterSet } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import { curvesByOid, findKeyAlgorithm, keyOids, type KeyAlgorithm } from './algorithms.ts'
import { tags } from '../asn1/der.ts'
import {
  DerError,
  type DerValue,
  expectTag,
  readBitString,
  readDer,
  readInteger,
  readOid,
  readSequence,
} from '../asn1/der-reader.ts'

/** A public key's kind, a parameter set in the place of a curve; `algorithm` is null when the platform makes none of that size or curve, such as RSA-1024. */
export interface PublicKeyDescription {
  readonly cryptoAlgorithm: CryptoAlgorithm
  readonly keySize: number | null
  readonly namedCurve: string | null
  readonly algorithm: KeyAlgorithm | null
}

/** The numbers of an RSA key. */
export interface RsaNumbers {
  readonly modulus: bigint
  readonly exponent: bigint
}

/** A SubjectPublicKeyInfo taken apart. */
export interface PublicKeyParts {
  readonly algorithmOid: string
  readonly parameters: DerValue | null
  readonly key: Buffer
}

/** Takes a SubjectPublicKeyInfo apart; throws a DerError. */
export const readPublicKeyParts = (spki: DerValue): PublicKeyParts => {
  const [algorithm, key, ...rest] = readSequence(spki)
  const [type, parameters = null, ...more] = readSequence(algorithm)
  if (rest.length > 0 || more.length > 0) throw new DerError('The key info has additional members')
  return { algorithmOid: readOid(type), parameters, key: readBitString(key) }
}

/** A positive INTEGER as a number of any size; throws a DerError. */
const readPositive = (value: DerValue | undefined): bigint => {
  const content = readInteger(value)
  if ((content[0] ?? 0xff) >= 0x80) throw new DerError('The number is negative')
  return BigInt(`0x${content.toString('hex')}`)
}

/** Modulus and exponent of an RSAPublicKey (RFC 8017 A.1.1); throws a DerError. */
export const readRsaNumbers = (key: Buffer): RsaNumbers => {
  const [modulus, exponent, ...rest] = readSequence(readDer(key))
  if (rest.length > 0) throw new DerError('The RSA key has additional members')
  return { modulus: readPositive(modulus), exponent: readPositive(exponent) }
}

const describeRsa = ({ key, parameters }: PublicKeyParts): PublicKeyDescription => {
  expectTag(parameters ?? undefined, tags.null)
  const keySize = readRsaNumbers(key).modulus.toString(2).length
  return { cryptoAlgorithm: 'RSA', keySize, namedCurve: null, algorithm: findKeyAlgorithm(keySize) }
}

// The first octet of a point that is compressed (SEC 1 2.3.3).
const compressed: readonly (number | undefined)[] = [0x02, 0x03]

// Only the uncompressed form, so that one key has one encoding (RFC 5480 2.2; the blocklist compares octets).
const describeEc = ({ key, parameters }: PublicKeyParts): PublicKeyDescription => {
  if (parameters?.tag === tags.sequence)
    throw new DerError('The EC parameters are explicit; the curve must be named by its OID (RFC 5480 2.1.1)')
  const dotted = readOid(parameters ?? undefined)
  const curve = curvesByOid[dotted]
  if (!curve) return { cryptoAlgorithm: 'EC', keySize: null, namedCurve: dotted, algorithm: null }
  if (compressed.includes(key[0])) throw new DerError('The EC point is compressed; it must be sent uncompressed')
  if (key[0] !== 0x04 || key.length !== 1 + 2 * curve.octets) throw new DerError('The point is not uncompressed')
  return { cryptoAlgorithm: 'EC', keySize: null, namedCurve: curve.name, algorithm: findKeyAlgorithm(curve.name) }
}

const describeEdwards = (name: 'ED25519' | 'ED448', octets: number) => {
  return ({ key, parameters }: PublicKeyParts): PublicKeyDescription => {
    if (parameters || key.length !== octets) throw new DerError('The EdDSA key is malformed')
    return { cryptoAlgorithm: 'EDDSA', keySize: null, namedCurve: name, algorithm: findKeyAlgorithm(name) }
  }
}

// The octets of RFC 9881 4: 32 of rho, and 320 for each row of t1. Any such octets are a key.
const describeMlDsa = (name: MlDsaParameterSet, rows: number) => {
  return ({ key, parameters }: PublicKeyParts): PublicKeyDescription => {
    if (parameters || key.length !== 32 + 320 * rows) throw new DerError('The ML-DSA key is malformed')
    return { cryptoAlgorithm: 'ML_DSA', keySize: null, namedCurve: name, algorithm: findKeyAlgorithm(name) }
  }
}

const describers: Readonly<Record<string, (parts: PublicKeyParts) => PublicKeyDescription>> = {
  [keyOids.rsaEncryption]: describeRsa,
  [keyOids.ecPublicKey]: describeEc,
  [keyOids.ed25519]: describeEdwards('ED25519', 32),
  [keyOids.ed448]: describeEdwards('ED448', 57),
  [keyOids.mlDsa44]: describeMlDsa('ML_DSA_44', 4),
  [keyOids.mlDsa65]: describeMlDsa('ML_DSA_65', 6),
  [keyOids.mlDsa87]: describeMlDsa('ML_DSA_87', 8),
}

/** The kind of a key of one of our algorithms, or null for another algorithm; throws a DerError. */
export const findPublicKeyDescription = (spki: DerValue): PublicKeyDescription | null => {
  const parts = readPublicKeyParts(spki)
  return describers[parts.algorithmOid]?.(parts) ?? null
}

/** The result of a reader of keys; its DerError becomes Failure INVALID_PUBLIC_KEY. */
export const readingPublicKey = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (error instanceof DerError) throw new Failure('INVALID_PUBLIC_KEY', `The key is malformed: ${error.message}`)
    throw error
  }
}

/**
 * The kind of a DER SubjectPublicKeyInfo (RFC 3279, RFC 5480, RFC 8410, RFC 9881). Failures: INVALID_PUBLIC_KEY when unreadable,
 * not strict DER or a compressed point; CRYPTO_RESTRICTION_VIOLATION when the algorithm is none of CryptoAlgorithm.
 */
export const describePublicKey = (spki: Buffer): PublicKeyDescription => {
  const description = readingPublicKey(() => findPublicKeyDescription(readDer(spki)))
  if (!description) throw new Failure('CRYPTO_RESTRICTION_VIOLATION', 'The algorithm of the key is not supported')
  return description
}

/** The row of the algorithm table; as describePublicKey, and CRYPTO_RESTRICTION_VIOLATION for another size or curve. */
export const getPublicKeyAlgorithm = (spki: Buffer): KeyAlgorithm => {
  const { algorithm } = describePublicKey(spki)
  if (!algorithm) throw new Failure('CRYPTO_RESTRICTION_VIOLATION', 'The size or curve of the key is not supported')
  return algorithm
}

/** The key identifier, 20 octets: leftmost 160 bits of SHA-256 over the BIT STRING's key (RFC 7093 2, method 1). */
export const keyIdentifier = (spki: Buffer): Buffer => {
  const { key } = readingPublicKey(() => readPublicKeyParts(readDer(spki)))
  return hash('sha256', key, 'buffer').subarray(0, 20)
}
