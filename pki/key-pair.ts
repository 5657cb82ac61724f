// Key pairs, made in the libuv pool so that the event loop stays free.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair as generate,
  type KeyObject,
  type KeyPairExportResult,
} from 'node:crypto'
import { promisify } from 'node:util'
import { getKeyAlgorithm, type KeySpec } from './algorithms.ts'

export { describePublicKey } from './public-key.ts'
export { checkKeyStrength } from './key-strength.ts'

/** Both halves of a key pair: DER SubjectPublicKeyInfo and DER PKCS#8 PrivateKeyInfo (RFC 5958), not encrypted. */
export interface KeyPair {
  readonly publicKeySpki: Buffer
  readonly privateKeyPkcs8: Buffer
}

const encodings = {
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'der' },
} as const

const generateRsa = promisify((bits: number, done: (error: Error | null, pair?: KeyPair) => void) =>
  generate('rsa', { modulusLength: bits, publicExponent: 65_537, ...encodings }, handOver(done)),
)
