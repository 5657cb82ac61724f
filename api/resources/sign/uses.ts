// Putting the signers of policies to use: signatures made in the thread pool, and the audit event of each use (contract 10.5).
import { hash, sign, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import { Failure } from '../../../domain/failure.ts'
import { encodePem, encodePemChain } from '../../../pki/pem.ts'
import { recordMany } from '../../../storage/audit.ts'
import { loadIssuers } from '../../../storage/chain.ts'
import type { Policy } from '../../../storage/rows/policy.ts'

const signAsync = promisify<string | null, Buffer, KeyObject, Buffer>(sign)

/** A signature over these octets; RSA is PKCS#1 v1.5, without a digest EdDSA. */
export const signData = (data: Uint8Array, { digest, key }: { digest: string | null; key: KeyObject }) =>
  signAsync(digest, Buffer.from(data), key)

/** One certificate, PEM. */
export const certificatePem = ({ der }: { readonly der: Buffer }): string => encodePem('CERTIFICATE', der)

/** Chains up to a root, which never change, by their first CA. */
const chains = new Map<string, string>()
const mostChains = 1000

/** The chain from this CA to its root, PEM; SIGNER_NOT_AVAILABLE where a CA in it is not known. */
export const chainPem = async (em: EntityManager, caId: string): Promise<string> => {
  const known = chains.get(caId)
  if (known !== undefined) return known
  const issuers = await loadIssuers(em, caId).catch((error: unknown) => {
    throw error instanceof Failure ? new Failure('SIGNER_NOT_AVAILABLE', 'The chain of the CA is not complete.') : error
  })
  const pem = encodePemChain(
    'CERTIFICATE',
    issuers.map(({ der }) => der),
  )
  if (chains.size >= mostChains) chains.clear()
  chains.set(caId, pem)
  return pem
}

/** One use of a signer. */
export interface Use {
  readonly type: 'DATA_SIGNED' | 'DATA_DECRYPTED'
  readonly policy: Policy
  readonly data: Uint8Array
  /** What is done with the data: "signed by the SCEP signer". */
  readonly verb: string
  readonly now: Date
}

/** What the service refuses by its look at the data alone. */
const refusals: ReadonlySet<unknown> = new Set(['SIGNING_REFUSED', 'DECRYPTION_FAILED'])

const tell = (em: EntityManager, { type, policy, data, verb, now }: Use, not = ''): Promise<void> => {
  const digest = hash('sha256', data, 'hex')
  const what = `Data with SHA-256 ${digest} ${not}${verb} of policy ${policy.name}`
  return recordMany(em, [{ type, objectId: policy.id, realmId: policy.realmId, what }], { now })
}

/** Looks at the data before anything is done with it, and records what is refused by that. */
export const refusalRecorded = async <T>(em: EntityManager, use: Use, look: () => T): Promise<T> => {
  try {
    return look()
  } catch (error) {
    if (error instanceof Failure && refusals.has(error.code)) await tell(em, use, 'not ')
    throw error
  }
}

/** Does it and records it; what is refused by the look of the data is recorded as well, as what was not done. */
export const recorded = async <T>(em: EntityManager, use: Use, work: () => Promise<T>): Promise<T> => {
  try {
    const result = await work()
    await tell(em, use)
    return result
  } catch (error) {
    if (error instanceof Failure && refusals.has(error.code)) await tell(em, use, 'not ')
    throw error
  }
}
