// The SIGNED{} form that certificates, requests, CRLs and OCSP answers share: contents, algorithm, signature.
import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { findSignatureAlgorithm, keyAlgorithmOf } from '../keys/algorithms.ts'
import { bitString, sequence } from '../asn1/der.ts'
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

/** Whether the signature is right under a DER SubjectPublicKeyInfo; false also for an algorithm that is not known. */
export const isSignedBy = ({ contents, algorithmOid, signature }: Signed, publicKeySpki: Buffer): boolean => {
  const algorithm = findSignatureAlgorithm(algorithmOid)
  if (!algorithm) return false
  try {
    const key = createPublicKey({ key: publicKeySpki, format: 'der', type: 'spki' })
    return verify(algorithm.digest, contents.raw, key, signature)
  } catch {
    return false
  }
}
