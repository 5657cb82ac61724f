// The forms whose signature by a CA would be a certificate, a list, an answer or a message of it. Who checks a signature may
// read more loosely than DER, so they are recognised by the order of their members' tags alone, in any encoding: where two
// readers could differ, what counts is the reading that finds a form.

interface Header {
  /** Class and number: `class * 2^28 + number`, without the bit for constructed. */
  readonly tag: number
  readonly start: number
  /** Null for an indefinite length. */
  readonly length: number | null
}

const contextClass = 2 * 2 ** 28

const universal = { integer: 2, oid: 6, sequence: 16, set: 17, utcTime: 23, generalizedTime: 24 } as const

// A number in the long form counts by its last octet: openssl takes one that would fit the short form, after any count of
// zeros, and a reader without room for a long number keeps no more of it than its end.
const readTag = (bytes: Buffer, offset: number): { tag: number; start: number } => {
  const first = bytes[offset] ?? 0
  const base = (first >> 6) * 2 ** 28
  if ((first & 0x1f) !== 0x1f) return { tag: base + (first & 0x1f), start: offset + 1 }
  let last = offset + 1
  while ((bytes[last] ?? 0) >= 0x80) last++
  return { tag: base + (bytes[last] ?? 0), start: last + 1 }
}

const mostLengthOctets = 4

// Nothing is as long as four octets can say: before them stand zeros, or what a reader of 32 bits would drop.
const readLength = (octets: Buffer): number =>
  octets.subarray(-mostLengthOctets).reduce((length, octet) => length * 256 + octet, 0)

const readHeader = (bytes: Buffer, offset: number): Header | null => {
  if (offset >= bytes.length) return null
  const { tag, start: place } = readTag(bytes, offset)
  const first = bytes[place] ?? 0
  const start = place + 1
  if (first < 0x80) return { tag, start, length: first }
  if (first === 0x80) return { tag, start, length: null }
  const end = start + (first & 0x7f)
  return { tag, start: end, length: readLength(bytes.subarray(start, end)) }
}

const isEndOfContents = (bytes: Buffer, offset: number): boolean => bytes[offset] === 0 && bytes[offset + 1] === 0

// The end of a value of indefinite length: every such value inside it opens a level, every end of contents closes one.
const skipIndefinite = (bytes: Buffer, start: number): number => {
  let offset = start
  for (let level = 1; level > 0;) {
    const header = readHeader(bytes, offset)
    if (!header) return bytes.length
    if (header.length === null) level++
    else if (isEndOfContents(bytes, offset)) level--
    offset = header.start + (header.length ?? 0)
  }
  return offset
}

const endOf = (bytes: Buffer, { start, length }: Header): number =>
  length === null ? skipIndefinite(bytes, start) : start + length

const mostMembers = 8

/** The headers of the first members after the place, whatever ends between them. */
const membersAt = (bytes: Buffer, start: number): Header[] => {
  const members: Header[] = []
  for (let offset = start; members.length < mostMembers;) {
    const header = readHeader(bytes, offset)
    if (!header) break
    if (!isEndOfContents(bytes, offset)) members.push(header)
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
  | 'CMS SignedData'
  | 'CMP ProtectedPart'
  | 'AttributeCertificateInfo'
  | 'BER value of indefinite length'

const { integer, oid, sequence, set, utcTime, generalizedTime } = universal

// The alternatives of PKIBody.
const bodies = Array.from({ length: 27 }, (_, number) => contextClass + number)

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
  ['CMS SignedData', [[integer], [set], [sequence]]],
  ['CMP ProtectedPart', [[sequence], bodies]],
  ['AttributeCertificateInfo', [[integer], [sequence], [contextClass], [sequence], [integer], [sequence], [sequence]]],
]

const startsWith = (members: readonly Header[], order: readonly (readonly number[])[]): boolean =>
  order.every((alternatives, place) => alternatives.includes(members[place]?.tag ?? -1))

const isAttribute = (bytes: Buffer, member: Header): boolean =>
  member.tag === sequence && startsWith(membersAt(bytes, member.start), [[oid], [set]])

const formOf = (members: readonly Header[]): SignedForm | null =>
  orders.find(([, order]) => startsWith(members, order))?.[0] ?? null

/** In the content of a message by PKCS#7 that is no OCTET STRING, the header is not signed. */
const headlessFormOf = (bytes: Buffer): SignedForm | null => {
  const form = formOf(membersAt(bytes, 0))
  return form === 'CMS ContentInfo' || form === 'CMS SignedData' ? form : null
}

/**
 * The form of which the octets are, or begin with, a value in any encoding of BER, or null: certificates and their requests
 * (RFC 5280 4.1.2, RFC 2986 4.1), lists (RFC 5280 5.1.2), OCSP answers (RFC 6960 4.2.1), the signed attributes of CMS
 * (RFC 5652 5.4) such as those of time stamps and SCEP, CMS content that is signed without such attributes (the next CA of
 * RFC 8894 4.7.1), with its header or without, messages of CMP (RFC 9810 5.1.3), and attribute certificates (RFC 5755 4.1).
 * Their members are looked at by kind only. A SEQUENCE or SET where the end of a value has to be looked for is never null:
 * readers do not agree on ends.
 */
export const findSignedForm = (bytes: Buffer): SignedForm | null => {
  const header = readHeader(bytes, 0)
  if (!header) return null
  const isSet = header.tag === set || header.tag === contextClass
  if (header.tag !== sequence && !isSet) return headlessFormOf(bytes)
  const members = membersAt(bytes, header.start)
  const isAttributes = isSet && members.some(member => isAttribute(bytes, member))
  const form = isSet ? isAttributes && 'CMS SignedAttributes' : formOf(members)
  const isOpen = [header, ...members].some(({ length }) => length === null)
  return form || (isOpen ? 'BER value of indefinite length' : null)
}
