// The forms whose signature by a CA would be a certificate, a list, an answer or a message of it. Who checks a signature may
// read more loosely than DER, so they are recognised by the order of their members' tags alone, in any encoding.

interface Header {
  /** Class and number: `class * 2^28 + number`, without the bit for constructed. */
  readonly tag: number
  readonly start: number
  /** Null for an indefinite length. */
  readonly length: number | null
}

const contextClass = 2 * 2 ** 28
const mostTagOctets = 4

const universal = { integer: 2, oid: 6, sequence: 16, set: 17, utcTime: 23, generalizedTime: 24 } as const

// Numbers in the long form that would fit the short one are taken as well: openssl does.
const readTag = (bytes: Buffer, offset: number): { tag: number; start: number } | null => {
  const first = bytes[offset] ?? 0
  const base = (first >> 6) * 2 ** 28
  if ((first & 0x1f) !== 0x1f) return { tag: base + (first & 0x1f), start: offset + 1 }
  let number = 0
  for (let place = offset + 1; place <= offset + mostTagOctets; place++) {
    const octet = bytes[place] ?? 0
    number = number * 128 + (octet & 0x7f)
    if (octet < 0x80) return { tag: base + number, start: place + 1 }
  }
  return null
}

const readHeader = (bytes: Buffer, offset: number): Header | null => {
  const read = offset < bytes.length ? readTag(bytes, offset) : null
  if (!read) return null
  const first = bytes[read.start] ?? 0
  const start = read.start + 1
  if (first < 0x80) return { tag: read.tag, start, length: first }
  if (first === 0x80) return { tag: read.tag, start, length: null }
  const end = start + (first & 0x7f)
  let length = 0
  for (const octet of bytes.subarray(start, end)) length = Math.min(length * 256 + octet, Number.MAX_SAFE_INTEGER / 512)
  return { tag: read.tag, start: end, length }
}

const isEndOfContents = ({ tag, length }: Header): boolean => tag === 0 && length === 0

// The end of a value of indefinite length: every such value inside it opens a level, every end of contents closes one.
const skipIndefinite = (bytes: Buffer, start: number): number => {
  let offset = start
  for (let level = 1; level > 0;) {
    const header = readHeader(bytes, offset)
    if (!header) return bytes.length
    if (header.length === null) level++
    else if (isEndOfContents(header)) level--
    offset = header.start + (header.length ?? 0)
  }
  return offset
}

const endOf = (bytes: Buffer, { start, length }: Header): number =>
  length === null ? skipIndefinite(bytes, start) : start + length

const mostMembers = 8

/** The headers of the first members after the place. */
const membersAt = (bytes: Buffer, start: number): Header[] => {
  const members: Header[] = []
  for (let offset = start; members.length < mostMembers;) {
    const header = readHeader(bytes, offset)
    if (!header || isEndOfContents(header)) break
    members.push(header)
    offset = endOf(bytes, header)
  }
  return members
}

/** The forms that are recognised. */
export type SignedForm =
  | 'TBSCertificate'
  | 'TBSCertList'
  | 'OCSP ResponseData'
  | 'CertificationRequestInfo'
  | 'CMS SignedAttributes'
  | 'CMS ContentInfo'
  | 'AttributeCertificateInfo'

const { integer, oid, sequence, set, utcTime, generalizedTime } = universal

// Each as a row of alternatives; members after them are of no interest.
const orders: readonly (readonly [SignedForm, readonly (readonly number[])[]])[] = [
  ['TBSCertificate', [[contextClass], [integer], [sequence], [sequence], [sequence], [sequence], [sequence]]],
  ['TBSCertificate', [[integer], [sequence], [sequence], [sequence], [sequence], [sequence]]],
  ['TBSCertList', [[integer], [sequence], [sequence], [utcTime, generalizedTime]]],
  ['TBSCertList', [[sequence], [sequence], [utcTime, generalizedTime]]],
  ['OCSP ResponseData', [[contextClass], [contextClass + 1, contextClass + 2], [generalizedTime], [sequence]]],
  ['OCSP ResponseData', [[contextClass + 1, contextClass + 2], [generalizedTime], [sequence]]],
  ['CertificationRequestInfo', [[integer], [sequence], [sequence]]],
  ['CMS ContentInfo', [[oid], [contextClass]]],
  ['AttributeCertificateInfo', [[integer], [sequence], [contextClass], [sequence], [integer], [sequence], [sequence]]],
]

const startsWith = (members: readonly Header[], order: readonly (readonly number[])[]): boolean =>
  order.every((alternatives, place) => alternatives.includes(members[place]?.tag ?? -1))

const isAttribute = (bytes: Buffer, member: Header): boolean =>
  member.tag === sequence && startsWith(membersAt(bytes, member.start), [[oid], [set]])

/**
 * The form of which the octets are, or begin with, a value in any encoding of BER, or null: certificates and their requests
 * (RFC 5280 4.1.2, RFC 2986 4.1), lists (RFC 5280 5.1.2), OCSP answers (RFC 6960 4.2.1), the signed attributes of CMS
 * (RFC 5652 5.4) such as those of time stamps and SCEP, CMS content that is signed without such attributes (the next CA of
 * RFC 8894 4.7.1), and attribute certificates (RFC 5755 4.1). Their members are looked at by kind only.
 */
export const findSignedForm = (bytes: Buffer): SignedForm | null => {
  const header = readHeader(bytes, 0)
  if (!header) return null
  const members = membersAt(bytes, header.start)
  if (header.tag === sequence) return orders.find(([, order]) => startsWith(members, order))?.[0] ?? null
  const isSet = header.tag === set || header.tag === contextClass
  return isSet && members.some(member => isAttribute(bytes, member)) ? 'CMS SignedAttributes' : null
}
