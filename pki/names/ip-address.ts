// IP addresses between text and the 4 or 16 octets of a certificate (RFC 5280 4.2.1.6), without touching the network.

const parseIpv4 = (text: string): number[] | null => {
  const parts = text.split('.')
  const legal = parts.length === 4 && parts.every(part => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
  return legal ? parts.map(Number) : null
}

const parseGroups = (text: string): number[] | null => {
  if (text === '') return []
  const octets: number[] = []
  const groups = text.split(':')
  for (const [index, group] of groups.entries()) {
    const ipv4 = index === groups.length - 1 ? parseIpv4(group) : null
    if (ipv4) octets.push(...ipv4)
    else if (/^[0-9a-f]{1,4}$/i.test(group))
      octets.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255)
    else return null
  }
  return octets
}

const parseIpv6 = (text: string): number[] | null => {
  const halves = text.split('::')
  const [head, tail] = [parseGroups(halves[0] ?? ''), parseGroups(halves[1] ?? '')]
  if (halves.length > 2 || !head || !tail) return null
  if (halves.length === 1) return head.length === 16 ? head : null
  const missing = 16 - head.length - tail.length
  return missing < 2 ? null : [...head, ...Array.from({ length: missing }, () => 0), ...tail]
}

/** The 4 or 16 octets of an address in text, or null when it is none. */
export const findIpOctets = (text: string): Buffer | null => {
  const octets = text.includes(':') ? parseIpv6(text) : parseIpv4(text)
  return octets && Buffer.from(octets)
}

// RFC 5952: lower case, no leading zeros, the first longest run of zero groups becomes `::`.
const formatIpv6 = (octets: Buffer): string => {
  const groups = Array.from({ length: 8 }, (_, index) => octets.readUInt16BE(index * 2).toString(16))
  const runs = `:${groups.join(':')}:`.match(/(?<=:)(0:){2,}/g) ?? []
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '')
  const text = groups.join(':')
  if (longest === '') return text
  const start = `:${text}:`.indexOf(`:${longest}`)
  return `${text.slice(0, Math.max(0, start - 1))}::${`${text}:`.slice(start + longest.length, -1)}`
}

/** Canonical text of 4 or 16 octets (RFC 5952), or null for another count. */
export const formatIp = (octets: Buffer): string | null => {
  if (octets.length === 4) return octets.join('.')
  return octets.length === 16 ? formatIpv6(octets) : null
}
