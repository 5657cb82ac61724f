// The form in which the product holds hashes (pki/keys/debian-keys.ts): the first six octets, grouped by the first two.
const groups = 2 ** 16

/** Packs SHA-256 hashes, given in hex in any order. */
export const packHashes = (hashes: readonly string[]): Buffer => {
  const prefixes = [...new Set(hashes.map(text => text.slice(0, 12)))].toSorted()
  if (prefixes.some(prefix => !/^[0-9a-f]{12}$/.test(prefix))) throw new Error('That is no hash in hexadecimal digits.')
  const counts = Buffer.alloc(groups)
  for (const prefix of prefixes) {
    const group = Number.parseInt(prefix.slice(0, 4), 16)
    counts.writeUInt8(counts.readUInt8(group) + 1, group)
  }
  return Buffer.concat([counts, ...prefixes.map(prefix => Buffer.from(prefix.slice(4), 'hex'))])
}
