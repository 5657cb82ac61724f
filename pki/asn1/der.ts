// A small direct writer of DER (ITU-T X.690): each function returns the finished octets of one value.

/** The tag octets (class, constructed bit and number) that X.509 uses. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  universalString: 0x1c,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const

const lengthSize = (length: number): number => {
  if (length < 0x80) return 1
  if (length < 0x100) return 2
  if (length < 0x10000) return 3
  return length < 0x1000000 ? 4 : 5
}

const writeLength = (out: Buffer, length: number): void => {
  const size = lengthSize(length)
  if (size === 1) out[1] = length
  else {
    out[1] = 0x7f + size
    out.writeUIntBE(length, 2, size - 1)
  }
}

/** The tag and length octets of a value with so long a content. */
export const header = (tag: number, length: number): Buffer => {
  const out = Buffer.allocUnsafe(1 + lengthSize(length))
  out[0] = tag
  writeLength(out, length)
  return out
}

/** A value of any tag octet whose content is the concatenation of the parts. */
export const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  let length = 0
  for (const part of parts) length += part.length
  let offset = 1 + lengthSize(length)
  const out = Buffer.allocUnsafe(offset + length)
  out[0] = tag
  writeLength(out, length)
  for (const part of parts) {
    out.set(part, offset)
    offset += part.length
  }
  return out
}

/** SEQUENCE of finished values. */
export const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(tags.sequence, ...parts)

/** SET OF finished values, sorted as DER wants them (X.690 11.6). */
export const setOf = (...parts: readonly Uint8Array[]): Buffer =>
  tlv(tags.set, ...parts.toSorted((one, other) => Buffer.compare(one, other)))

/** `[number]` constructed: an EXPLICIT tag, or an IMPLICIT one over a SEQUENCE or SET. */
export const context = (number: number, ...parts: readonly Uint8Array[]): Buffer => tlv(0xa0 | number, ...parts)

/** `[number] IMPLICIT` over a primitive type with the given content octets. */
export const implicit = (number: number, content: Uint8Array): Buffer => tlv(0x80 | number, content)

/** INTEGER, not negative, from big-endian octets, hexadecimal text or a small number. */
export const integer = (value: Uint8Array | string | number): Buffer => {
  const bytes = unsignedOctets(value)
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const digits = bytes.subarray(start)
  if (digits.length === 0) return Buffer.of(tags.integer, 1, 0)
  return (digits[0] ?? 0) < 0x80 ? tlv(tags.integer, digits) : tlv(tags.integer, Buffer.of(0), digits)
}

const unsignedOctets = (value: Uint8Array | string | number): Uint8Array => {
  if (value instanceof Uint8Array) return value
  const hex = typeof value === 'number' ? value.toString(16) : value
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

/** BOOLEAN TRUE; FALSE is always a default and never written. */
export const derTrue: Buffer = Buffer.of(tags.boolean, 1, 0xff)

/** NULL. */
export const derNull: Buffer = Buffer.of(tags.null, 0)

/** OCTET STRING. */
export const octetString = (content: Uint8Array): Buffer => tlv(tags.octetString, content)

/** BIT STRING of whole octets. */
export const bitString = (content: Uint8Array): Buffer => tlv(tags.bitString, Buffer.of(0), content)

/** BIT STRING with named bits, the given numbers set, without trailing zero bits (X.690 11.2.2). */
export const namedBits = (bits: readonly number[]): Buffer => {
  const last = Math.max(-1, ...bits)
  const octets = Buffer.alloc((last >> 3) + 1)
  for (const bit of bits) octets[bit >> 3] = (octets[bit >> 3] ?? 0) | (0x80 >> (bit & 7))
  return tlv(tags.bitString, Buffer.of(last < 0 ? 0 : 7 - (last & 7)), octets)
}

const arcOctets = (arc: bigint): number[] => {
  const octets = [Number(arc & 0x7fn)]
  for (let rest = arc >> 7n; rest > 0n; rest >>= 7n) octets.unshift(Number(rest & 0x7fn) | 0x80)
  return octets
}

const oidCache = new Map<string, Buffer>()

/** OBJECT IDENTIFIER from dotted text; cached, so only for identifiers of this program or its configuration. */
export const oid = (dotted: string): Buffer => {
  const known = oidCache.get(dotted)
  if (known) return known
  const [first = 0n, second = 0n, ...rest] = dotted.split('.').map(BigInt)
  const encoded = tlv(tags.oid, Buffer.from([first * 40n + second, ...rest].flatMap(arcOctets)))
  oidCache.set(dotted, encoded)
  return encoded
}

/** UTF8String. */
export const utf8String = (text: string): Buffer => tlv(tags.utf8String, Buffer.from(text, 'utf8'))

/** PrintableString; the caller answers for its alphabet. */
export const printableString = (text: string): Buffer => tlv(tags.printableString, Buffer.from(text, 'latin1'))

/** IA5String; the caller answers for its alphabet. */
export const ia5String = (text: string): Buffer => tlv(tags.ia5String, Buffer.from(text, 'latin1'))

/** BMPString: UTF-16, big-endian. */
export const bmpString = (text: string): Buffer => tlv(tags.bmpString, Buffer.from(text, 'utf16le').swap16())

const digits = (value: number, places = 2): string => String(value).padStart(places, '0')

// By members: a revocation list has a million of them, and a pattern over ISO text takes most of the time to write it.
const timeDigits = (date: Date): string => {
  const year = date.getUTCFullYear()
  if (!(year >= 0 && year <= 9999)) throw new RangeError('The time has no year of four digits')
  return (
    digits(year, 4) +
    digits(date.getUTCMonth() + 1) +
    digits(date.getUTCDate()) +
    digits(date.getUTCHours()) +
    digits(date.getUTCMinutes()) +
    `${digits(date.getUTCSeconds())}Z`
  )
}

/** GeneralizedTime in the form of RFC 5280 4.1.2.5.2: whole seconds, `Z`; RangeError for a Date that is none. */
export const generalizedTime = (date: Date): Buffer =>
  tlv(tags.generalizedTime, Buffer.from(timeDigits(date), 'latin1'))

/** ENUMERATED of a small number. */
export const enumerated = (value: number): Buffer => tlv(tags.enumerated, Buffer.of(value))

/** Time of RFC 5280 4.1.2.5: UTCTime for 1950 to 2049, GeneralizedTime else, whole seconds, `Z`; RangeError for a Date that is none. */
export const time = (date: Date): Buffer => {
  const year = date.getUTCFullYear()
  if (year < 1950 || year >= 2050) return generalizedTime(date)
  return tlv(tags.utcTime, Buffer.from(timeDigits(date).slice(2), 'latin1'))
}
