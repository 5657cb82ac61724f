// The public keys whose private halves are known to others (contract 5.4 step 6): the published ones, those of Debian's
// OpenSSL, and those of lists that the installation loads when it starts.
import { hash } from 'node:crypto'
import { numberHash } from './big-number.ts'
import { isDebianKey } from './debian-keys.ts'
import { publishedKeys, outermostScalarKeys } from './published-keys.ts'

// The whole process shares them: what is weak is so for every policy, and a list only ever grows.
const known = new Set([...Object.keys(publishedKeys), ...outermostScalarKeys()])

// SHA-256 over a SubjectPublicKeyInfo or a number, or the last 80 bits of SHA-1 as Debian's openssl-blacklist has them.
const entryForm = /^(?:[0-9a-f]{64}|[0-9a-f]{20})$/

/**
 * Adds a list of weak keys and answers how many entries it has. One entry a line in hex of any case: 64 digits are the
 * SHA-256 over the DER SubjectPublicKeyInfo, or over the modulus or x-coordinate in as few octets as hold it; 20 digits
 * are an entry of Debian's openssl-blacklist (the end of the SHA-1 over `Modulus=<upper-case hex>` and LF). Empty lines and
 * lines from # on are passed over; any other line is an Error.
 */
export const addKnownKeys = (list: string): number => {
  const entries = list.split('\n').map((line, index) => ({ text: line.trim().toLowerCase(), number: index + 1 }))
  const given = entries.filter(({ text }) => text !== '' && !text.startsWith('#'))
  const wrong = given.find(({ text }) => !entryForm.test(text))
  if (wrong) throw new Error(`Line ${wrong.number} of the list of weak keys is no hash of 64 or 20 hexadecimal digits.`)
  for (const { text } of given) known.add(text)
  return given.length
}

const blacklistEntry = (modulus: bigint): string =>
  hash('sha1', `Modulus=${modulus.toString(16).toUpperCase()}\n`, 'hex').slice(20)

/** What a key is known by. */
export interface KeyIdentity {
  /** DER SubjectPublicKeyInfo. */
  readonly spki: Buffer
  /** The name in the table of algorithms; null for a size that is not in it. */
  readonly kind: string | null
  /** What the private half is found by, whatever stands beside it: the modulus of RSA, the x-coordinate of a point. */
  readonly number: bigint | null
}

const isKnownNumber = (number: bigint, kind: string | null): boolean => {
  const hashed = numberHash(number)
  return (
    known.has(hashed.toString('hex')) ||
    known.has(blacklistEntry(number)) ||
    (kind !== null && isDebianKey(kind, hashed))
  )
}

/** Whether the private half of a key is known. */
export const isKnownKey = ({ spki, kind, number }: KeyIdentity): boolean =>
  known.has(hash('sha256', spki, 'hex')) || (number !== null && isKnownNumber(number, kind))
