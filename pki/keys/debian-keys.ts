// The keys that Debian's OpenSSL made between 2006 and 2008 (CVE-2008-0166): lists of hashes that ship with the product
// (docs/decisions/0020-debian-keys-ship-as-hashes.md).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The kinds of keys that there is a list of, by their names in the table of algorithms. */
export const debianKinds = ['RSA-2048', 'P-256', 'P-384', 'P-521'] as const

/**
 * The first six octets of hashes. They are grouped by the first two: for each of these 65,536 values in order there is one
 * octet, how many hashes begin so, and behind all of them the other four octets of each hash. The file is that in Base64.
 */
interface HashList {
  /** How many hashes stand before the group, and after the last group how many there are. */
  readonly starts: Uint32Array
  readonly rests: Buffer
}

const groups = 2 ** 16
const restOctets = 4

const readList = (kind: string): HashList => {
  const list = Buffer.from(readFileSync(join(import.meta.dirname, 'debian', `${kind}.b64`), 'latin1'), 'base64')
  const starts = new Uint32Array(groups + 1)
  for (let group = 0, start = 0; group < groups; group++) starts[group + 1] = start += list[group] ?? 0
  const rests = list.subarray(groups)
  if (rests.length !== restOctets * (starts[groups] ?? 0)) throw new Error(`The list of Debian's ${kind} keys is torn.`)
  return { starts, rests }
}

const lists = new Map<string, HashList>(debianKinds.map(kind => [kind, readList(kind)]))

/** Whether a hash (big-number.ts, numberHash) of a modulus or an x-coordinate is that of a Debian key of the kind. */
export const isDebianKey = (kind: string, hashed: Buffer): boolean => {
  const list = lists.get(kind)
  if (!list) return false
  const group = hashed.readUInt16BE()
  const rest = hashed.readUInt32BE(2)
  for (let place = list.starts[group] ?? 0; place < (list.starts[group + 1] ?? 0); place++)
    if (list.rests.readUInt32BE(restOctets * place) === rest) return true
  return false
}
