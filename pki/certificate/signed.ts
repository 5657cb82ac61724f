// The SIGNED{} form that certificates, requests, CRLs and OCSP answers share: contents, algorithm, signature.
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { findSignatureAlgorithm, keyAlgorithmOf, keyOids, type SignatureAlgorithm } from '../keys/algorithms.ts'
import { findPublicKeyDescription, type PublicKeyParts, readPublicKeyParts } from '../keys/public-key.ts'
import { findPssParameters, isPssSignature, rsaPssOid } from '../keys/rsa-pss.ts'
import { bitString, header, sequence, tags } from '../asn1/der.ts'
import { DerError, type DerValue, readBitString, readDer, readOid, readSequence } from '../asn1/der-reader.ts'

/** Signs octets in the libuv pool with the key's natural digest (contract 10.2); ECDSA as DER. */
export const signOctets = (octets: Buffer, key: KeyObject): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const { digest } = keyAlgorithmOf(key).signature
    sign(digest, octets, key, (error, signature) => (error ? reject(error) : resolve(signature)))
  })

/** The contents (DER) with AlgorithmIdentifier and signature: DER SEQUENCE of the three. */
export const signDer = async (contents: Buffer, key: KeyObject): Promise<Buffer> => {
  const signature = await signOctets(contents, key)
  return sequence(contents, keyAlgorithmOf(key).signature.identifier, bitString(signature))
}

/** The longest header of a value below 4 GiB. */
const mostHeader = 6
/** More than any signature with its BIT STRING takes: ML-DSA-87 has 4627 octets. */
const mostSignature = 8192

/**
 * As `signDer`, of a SEQUENCE whose content comes in parts: each is written once, to where it stays, however many megabytes
 * there are.
 */
export const signParts = async (parts: readonly Buffer[], key: KeyObject): Promise<Buffer> => {
  const { identifier } = keyAlgorithmOf(key).signature
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const pieces = [header(tags.sequence, length), ...parts]
  const out = Buffer.allocUnsafe(2 * mostHeader + length + identifier.length + mostSignature)
  let end = mostHeader
  for (const piece of pieces) end += piece.copy(out, end)
  const signature = bitString(await signOctets(out.subarray(mostHeader, end), key))
  for (const piece of [identifier, signature]) end += piece.copy(out, end)
  const outer = header(tags.sequence, end - mostHeader)
  const begin = mostHeader - outer.length
  outer.copy(out, begin)
  return out.subarray(begin, end)
}

/** A signed value taken apart. */
export interface Signed {
  readonly contents: DerValue
  readonly algorithmIdentifier: DerValue
  readonly algorithmOid: string
  readonly signature: Buffer
}

/** Takes a signed value apart that fills the buffer; throws a DerError. */
export const readSigned = (der: Buffer): Signed => {
  const [contents, algorithmIdentifier, signature, ...rest] = readSequence(readDer(der))
  if (!contents || !algorithmIdentifier || rest.length > 0) throw new DerError('Not a signed value')
  const [algorithm] = readSequence(algorithmIdentifier)
  return { contents, algorithmIdentifier, algorithmOid: readOid(algorithm), signature: readBitString(signature) }
}

/** The public name of the signature algorithm (such as SHA256_WITH_RSA), or its OID where it has none. */
export const signatureName = ({ algorithmOid, algorithmIdentifier }: Signed): string => {
  if (algorithmOid !== rsaPssOid) return findSignatureAlgorithm(algorithmOid)?.name ?? algorithmOid
  const digest = findPssParameters(algorithmIdentifier)?.digest
  return digest ? `${digest.toUpperCase().replace('-', '_')}_WITH_RSASSA_PSS` : algorithmOid
}

const digestOf = ({ algorithmOid, algorithmIdentifier }: Signed): string | null | undefined =>
  algorithmOid === rsaPssOid
    ? findPssParameters(algorithmIdentifier)?.digest
    : findSignatureAlgorithm(algorithmOid)?.digest

/**
 * Whether a signature is by SHA-1, in whichever form: who can choose a part of what is signed can make another content for
 * it. False for malformed parameters, with which no signature is right.
 */
const isBySha1 = (signed: Signed): boolean => {
  try {
    return digestOf(signed) === 'sha1'
  } catch (error) {
    if (error instanceof DerError) return false
    throw error
  }
}

/** The key of a smaller modulus can be found from it: 512 bits take hours, and 1024 are not sure any more. */
const smallestModulus = 2048

/**
 * By what somebody else could have made a signature that is right under a DER SubjectPublicKeyInfo, such as `SHA-1` and `an
 * RSA key of 1024 bits`; null where nobody could. Throws a DerError for a key that is malformed.
 */
export const weaknessOf = (signed: Signed, publicKeySpki: Buffer): string | null => {
  if (isBySha1(signed)) return 'SHA-1'
  const { cryptoAlgorithm, keySize } = findPublicKeyDescription(readDer(publicKeySpki)) ?? {}
  return cryptoAlgorithm === 'RSA' && keySize && keySize < smallestModulus ? `an RSA key of ${keySize} bits` : null
}

// Explicit curves are not given to openssl, which would compute with whatever they say.
const isOfNamedCurve = ({ algorithmOid, parameters }: PublicKeyParts): boolean =>
  algorithmOid !== keyOids.ecPublicKey || parameters?.tag === tags.oid

const isRight = (signed: Signed, digest: string | null, publicKeySpki: Buffer): boolean => {
  try {
    const key = createPublicKey({ key: publicKeySpki, format: 'der', type: 'spki' })
    return verify(digest, signed.contents.raw, key, signed.signature)
  } catch {
    return false
  }
}

// A pure signature has no parameters, whatever they would say (RFC 8410 3, RFC 9881 2).
const hasRightParameters = ({ digest, identifier }: SignatureAlgorithm, { algorithmIdentifier }: Signed): boolean =>
  digest !== null || identifier.equals(algorithmIdentifier.raw)

/**
 * Whether the signature is right under a DER SubjectPublicKeyInfo; null when its algorithm is none that can be checked
 * here. Throws a DerError for a key or parameters that are malformed.
 */
export const checkSignature = (signed: Signed, publicKeySpki: Buffer): boolean | null => {
  const { algorithmOid, algorithmIdentifier: identifier, signature } = signed
  const parts = readPublicKeyParts(readDer(publicKeySpki))
  if (algorithmOid === rsaPssOid && parts.algorithmOid === keyOids.rsaEncryption)
    return isPssSignature({ contents: signed.contents.raw, identifier, signature }, parts.key)
  const algorithm = findSignatureAlgorithm(algorithmOid)
  if (!algorithm) return null
  const fits = algorithm.keyOid === parts.algorithmOid && isOfNamedCurve(parts)
  return fits && hasRightParameters(algorithm, signed) && isRight(signed, algorithm.digest, publicKeySpki)
}

/** Whether the signature is right under a DER SubjectPublicKeyInfo; false also where it cannot be checked. */
export const isSignedBy = (signed: Signed, publicKeySpki: Buffer): boolean => {
  try {
    return checkSignature(signed, publicKeySpki) === true
  } catch (error) {
    if (error instanceof DerError) return false
    throw error
  }
}
