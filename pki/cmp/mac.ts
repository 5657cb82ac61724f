// The MAC by a password over a message of CMP. Every hash costs: up to a thousand are done at once, more in a thread.
import { createHash, createHmac, hash, pbkdf2Sync } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { Digest, MacParameters } from './mac-parameters.ts'

/** What is protected, and by what. */
export interface MacInput {
  /** UTF-8. */
  readonly password: Buffer
  /** DER ProtectedPart. */
  readonly data: Buffer
}

/** RFC 9810 5.1.3.1: the digest of password and salt, and the digest of that, so many times in all. */
const baseKeyOf = (password: Buffer, { salt, iterationCount, owf }: MacParameters): Buffer => {
  let key: Buffer = createHash(owf.hash).update(password).update(salt).digest()
  for (let count = 1; count < iterationCount; count += 1) key = hash(owf.hash, key, 'buffer')
  return key
}

const keyOf = (password: Buffer, parameters: MacParameters): Buffer => {
  const { scheme, salt, iterationCount, keyLength, owf } = parameters
  if (scheme === 'PBM') return baseKeyOf(password, parameters)
  return pbkdf2Sync(password, salt, iterationCount, keyLength, owf.hash)
}

/**
 * The MAC over a ProtectedPart (RFC 9810 5.1.3.1, RFC 8018 7.1), in this thread: a million rounds take seconds. The base key
 * of PBM is the key of the HMAC whole, as others have it, whatever its length.
 */
export const computeMac = (parameters: MacParameters, { password, data }: MacInput): Buffer => {
  const key = keyOf(password, parameters)
  const mac = createHmac(parameters.mac.hash, key).update(data).digest()
  key.fill(0)
  return mac
}

/**
 * So many hashes take 0.9 ms at most (PBM with SHA-384; PBKDF2 0.2 ms), whatever is allowed as salt and password; the defaults
 * of OpenSSL and Bouncy Castle for PBM, 500 and 1,000, are among them.
 */
const atOnce = 1000

/** The hashes that the key takes: PBKDF2 makes it in blocks, and each of its rounds is an HMAC, which is two of them. */
const hashesOf = ({ scheme, iterationCount, keyLength, owf }: MacParameters): number =>
  scheme === 'PBM' ? iterationCount : 2 * iterationCount * Math.ceil(keyLength / owf.octets)

/** Whether a MAC takes so long that it is made in a thread of its own, one of few at a time. */
export const isSlow = (parameters: MacParameters): boolean => hashesOf(parameters) > atOnce

/** What the thread is given: octets, as they are after they were copied there. */
export interface MacTask {
  readonly parameters: Omit<MacParameters, 'salt' | 'owf' | 'mac'> & {
    readonly salt: Uint8Array
    readonly owf: Digest
    readonly mac: Digest
  }
  readonly password: Uint8Array
  readonly data: Uint8Array
}

const inThread = (parameters: MacParameters, { password, data }: MacInput): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const workerData: MacTask = { parameters, password, data }
    const worker = new Worker(new URL('mac-thread.ts', import.meta.url), { workerData, env: {} })
    worker.once('message', (mac: Uint8Array) => resolve(Buffer.from(mac)))
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('The thread of a MAC has ended without one.')))
  })

/** The MAC as `computeMac` makes it, beside the event loop where it is slow; the password is the caller's to wipe. */
export const macOf = async (parameters: MacParameters, input: MacInput): Promise<Buffer> =>
  isSlow(parameters) ? inThread(parameters, input) : computeMac(parameters, input)
