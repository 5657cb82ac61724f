// A strict reader of DER (ITU-T X.690): definite, shortest lengths; every error is a DerError, which each parser
// reports as its own Failure.
import { tags } from './der.ts'

/** The octets are not the DER that was expected. */
export class DerError extends Error {
  override readonly name = 'DerError'
}

// As many as the longest object can hold: a longer message is no reason to make millions of values.
const mostChildren = 32_768

/** One value inside a buffer; `raw` and `content` are views, not copies. */
export class DerValue {
  readonly tag: number
  readonly #bytes: Buffer
  readonly #start: number
  readonly #contentStart: number
  readonly end: number

  constructor(bytes: Buffer, start: number, limit: number) {
    const tag = bytes[start]
    if (tag === undefined || start >= limit || (tag & 0x1f) === 0x1f) throw new DerError('No readable tag')
    const { length, size } = readLength(bytes, start + 1, limit)
    this.tag = tag
    this.#bytes = bytes
    this.#start = start
    this.#contentStart = start + 1 + size
    this.end = this.#contentStart + length
    if (this.end > limit) throw new DerError('The value is longer than its surroundings')
  }

  /** The whole encoding. */
  get raw(): Buffer {
    return this.#bytes.subarray(this.#start, this.end)
  }

  /** The content octets. */
  get content(): Buffer {
    return this.#bytes.subarray(this.#contentStart, this.end)
  }

  /** The values inside a constructed value. */
  get children(): DerValue[] {
    if ((this.tag & 0x20) === 0) throw new DerError('A constructed value was expected')
    const values: DerValue[] = []
    for (let offset = this.#contentStart; offset < this.end; offset = values.at(-1)?.end ?? this.end) {
      if (values.length === mostChildren) throw new DerError(`There are more than ${mostChildren} members`)
      values.push(new DerValue(this.#bytes, offset, this.end))
    }
    return values
  }
}

const readLength = (bytes: Buffer, offset: number, limit: number): { length: number; size: number } => {
  const first = bytes[offset]
  if (first === undefined || offset >= limit) throw new DerError('The length is missing')
  if (first < 0x80) return { length: first, size: 1 }
  const count = first & 0x7f
  if (count === 0 || count > 4 || offset + count >= limit) throw new DerError('The length is not DER')
  const length = bytes.readUIntBE(offset + 1, count)
  if (length < 0x80 || length < 2 ** (8 * (count - 1))) throw new DerError('The length is not the shortest')
  return { length, size: 1 + count }
}

/** The most octets of a certificate, request or key (contract 1.2): reading more keeps the process busy for seconds. */
export const longestObject = 65_536

/** Reads exactly one value that fills the buffer, which is judged by its size before anything is read. */
export const readDer = (bytes: Buffer, tag?: number, most = longestObject): DerValue => {
  if (bytes.length > most) throw new DerError(`It has more than ${most} octets`)
  const value = new DerValue(bytes, 0, bytes.length)
  if (value.end !== bytes.length) throw new DerError('Octets follow the value')
  return tag === undefined ? value : expectTag(value, tag)
}

/** The value itself when it is there and has the tag. */
export const expectTag = (value: DerValue | undefined, tag: number): DerValue => {
  if (value?.tag !== tag) throw new DerError(`Tag ${tag} was expected, not ${value?.tag ?? 'nothing'}`)
  return value
}

/** The content octets of an INTEGER as others write it, with needless octets before it or not; shortest form. */
export const readLooseInteger = (value: DerValue | undefined): Buffer => {
  const { content } = expectTag(value, tags.integer)
  let start = 0
  while (start < content.length - 1 && content[start] === 0 && (content[start + 1] ?? 0x80) < 0x80) start++
  return content.subarray(start)
}

/** The values of a SEQUENCE. */
export const readSequence = (value: DerValue | undefined): DerValue[] => expectTag(value, tags.sequence).children

/** The values of a SET. */
export const readSet = (value: DerValue | undefined): DerValue[] => expectTag(value, tags.set).children

/** The content of an OCTET STRING. */
export const readOctetString = (value: DerValue | undefined): Buffer => expectTag(value, tags.octetString).content

/** The octets of a BIT STRING without unused bits. */
export const readBitString = (value: DerValue | undefined): Buffer => {
  const { content } = expectTag(value, tags.bitString)
  if (content[0] !== 0) throw new DerError('A bit string of whole octets was expected')
  return content.subarray(1)
}

/** The content octets of an INTEGER in its shortest form (two's complement). */
export const readInteger = (value: DerValue | undefined): Buffer => {
  const { content } = expectTag(value, tags.integer)
  const [first, second] = content
  if (first === undefined) throw new DerError('The integer is empty')
  const padded = second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))
  if (padded) throw new DerError('The integer is not the shortest')
  return content
}

// More than any list of named bits in X.509 or CMP has.
const mostNamedBits = 32

/** The numbers of the bits that are set in a named BIT STRING. */
export const readNamedBits = (value: DerValue): number[] => {
  const { content } = expectTag(value, tags.bitString)
  const unused = content[0] ?? 8
  if (content.length > 1 + mostNamedBits / 8) throw new DerError(`The bit string names more than ${mostNamedBits} bits`)
  if (unused > 7 || (unused > 0 && content.length === 1)) throw new DerError('The bit string is malformed')
  const bits = Array.from({ length: (content.length - 1) * 8 - unused }, (_, bit) => bit)
  return bits.filter(bit => ((content[1 + (bit >> 3)] ?? 0) & (0x80 >> (bit & 7))) !== 0)
}

/** A BOOLEAN. */
export const readBoolean = (value: DerValue): boolean => {
  const { content } = expectTag(value, tags.boolean)
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw new DerError('The boolean is not DER')
  return content[0] === 0xff
}

const dottedOf = (content: Buffer): string => {
  const arcs = splitArcs(content)
  const first = Math.min(2, Math.floor(Number(arcs[0]) / 40))
  return [first, (arcs[0] ?? 0n) - BigInt(first * 40), ...arcs.slice(1)].join('.')
}

/** The texts of the identifiers that were read first, by their octets: a certificate holds the same twenty as the next. */
const knownOids = new Map<string, string>()

/** So many are remembered, whatever strangers send. */
const mostKnownOids = 256

/** The dotted text of an OBJECT IDENTIFIER. */
export const readOid = (value: DerValue | undefined): string => {
  const { content } = expectTag(value, tags.oid)
  if (content.length === 0 || content.length > 128) throw new DerError('The object identifier is malformed')
  const octets = content.toString('latin1')
  const known = knownOids.get(octets)
  if (known !== undefined) return known
  const dotted = dottedOf(content)
  if (knownOids.size < mostKnownOids) knownOids.set(octets, dotted)
  return dotted
}

const splitArcs = (content: Buffer): bigint[] => {
  const arcs: bigint[] = []
  let arc = 0
  let large = 0n
  for (const octet of content) {
    if (arc === 0 && large === 0n && octet === 0x80) throw new DerError('The object identifier is not the shortest')
    if (arc < 0x1ffffff) arc = arc * 128 + (octet & 0x7f)
    else large = ((large || BigInt(arc)) << 7n) | BigInt(octet & 0x7f)
    if (octet < 0x80) {
      arcs.push(large || BigInt(arc))
      arc = 0
      large = 0n
    }
  }
  if ((content.at(-1) ?? 0x80) >= 0x80) throw new DerError('The object identifier is cut off')
  return arcs
}

const decodeUtf8 = (content: Buffer) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)

const decodeBmp = (content: Buffer) => {
  if (content.length % 2 !== 0) throw new DerError('The BMPString has half a character')
  return Buffer.from(content).swap16().toString('utf16le')
}

const decodeAscii = (content: Buffer) => {
  if (content.some(octet => octet > 0x7f)) throw new DerError('The string holds an octet outside ASCII')
  return content.toString('latin1')
}

const stringDecoders: Readonly<Record<number, (content: Buffer) => string>> = {
  [tags.utf8String]: decodeUtf8,
  [tags.printableString]: decodeAscii,
  [tags.ia5String]: decodeAscii,
  [tags.teletexString]: content => content.toString('latin1'),
  [tags.bmpString]: decodeBmp,
}

/** The text of a string type, or null for a value of another type. */
export const findText = (value: DerValue): string | null => {
  const decode = stringDecoders[value.tag]
  if (!decode) return null
  try {
    return decode(value.content)
  } catch {
    throw new DerError('The string is not of its type')
  }
}

const timeForms: Readonly<Record<number, RegExp>> = {
  [tags.utcTime]: /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/,
  [tags.generalizedTime]: /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/,
}

/** A GeneralizedTime in the form of RFC 5280 4.1.2.5.2. */
export const readGeneralizedTime = (value: DerValue | undefined): Date =>
  readTime(expectTag(value, tags.generalizedTime))

/** A Time in the forms of RFC 5280 4.1.2.5. */
export const readTime = (value: DerValue | undefined): Date => {
  const parts = timeForms[value?.tag ?? 0]?.exec(value?.content.toString('latin1') ?? '')
  if (!parts || !value) throw new DerError('The time is malformed')
  const [, year = '', ...rest] = parts
  const century = Number(year) < 50 ? '20' : '19'
  const [month, day, hour, minute, second] = rest
  const date = new Date(`${year.length === 2 ? century + year : year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  // Date takes the 30th of February for the 2nd of March.
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day)) throw new DerError('The time does not exist')
  return date
}
