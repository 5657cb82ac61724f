// Key pairs, made in the libuv pool so that the event loop stays free.
import { generateKeyPair as generate } from 'node:crypto'
import { promisify } from 'node:util'
import type { KeySpec } from '../../domain/key-rules.ts'
import { getKeyAlgorithm } from './algorithms.ts'

/** Both halves of a key pair: DER SubjectPublicKeyInfo and DER PKCS#8 PrivateKeyInfo (RFC 5958), not encrypted. */
export interface KeyPair {
  readonly publicKeySpki: Buffer
  readonly privateKeyPkcs8: Buffer
}

const generateAsync = promisify(generate)

const encodings = {
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'der' },
} as const

const generateEncoded = (spec: KeySpec) => {
  if (spec.cryptoAlgorithm === 'RSA')
    return generateAsync('rsa', { modulusLength: spec.keySize, publicExponent: 65_537, ...encodings })
  if (spec.cryptoAlgorithm === 'EC')
    return generateAsync('ec', { namedCurve: getKeyAlgorithm(spec).curve ?? '', ...encodings })
  // The other kinds are types of their own, which the declarations want one by one; ML-DSA keys are kept as their seed
  // (RFC 9881 6), from which everybody can make the rest.
  return generateAsync(getKeyAlgorithm(spec).curve as 'ed25519', encodings)
}

/** A new key pair of the kind, by the operating system's random source (FIPS 186-5, FIPS 204). */
export const generateKeyPair = async (spec: KeySpec): Promise<KeyPair> => {
  const { publicKey, privateKey } = await generateEncoded(spec)
  return { publicKeySpki: publicKey, privateKeyPkcs8: privateKey }
}
