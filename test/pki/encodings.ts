// One value in the encodings of BER that are not DER: what a client sends, or who would trick a parser.
import { octetString, tags } from '../../pki/asn1/der.ts'
import { DerValue } from '../../pki/asn1/der-reader.ts'

type Header = (tag: number, content: Buffer) => Buffer

// Every value anew, constructed ones by their members.
const rewrite = (der: Buffer, header: Header): Buffer => {
  const value = new DerValue(der, 0, der.length)
  if ((value.tag & 0x20) === 0) return header(value.tag, value.content)
  return header(value.tag, Buffer.concat(value.children.map(({ raw }) => rewrite(raw, header))))
}

const longLength =
  (...before: number[]): Header =>
  (tag, content) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(content.length)
    return Buffer.concat([Buffer.of(tag, 0x84 + before.length, ...before), length, content])
  }

/** Lengths of four octets, whatever they are. */
export const longLengths = (der: Buffer): Buffer => rewrite(der, longLength())

const endOfContents = Buffer.alloc(2)

const shortHeader = (tag: number, content: Buffer): Buffer => {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(content.length)
  return Buffer.concat([Buffer.of(tag, ...(content.length < 0x80 ? [content.length] : [0x82, ...length])), content])
}

const pieces = (content: Buffer): Buffer[] => {
  const count = Math.ceil(content.length / 1000)
  return Array.from({ length: count }, (_, place) => octetString(content.subarray(place * 1000, (place + 1) * 1000)))
}

const indefiniteHeader: Header = (tag, content) => {
  if (tag === tags.octetString) return indefiniteHeader(0x24, Buffer.concat(pieces(content)))
  if ((tag & 0x20) === 0) return shortHeader(tag, content)
  return Buffer.concat([Buffer.of(tag, 0x80), content, endOfContents])
}

/** Indefinite lengths wherever they can be, and OCTET STRINGs in pieces of 1,000 octets. */
export const indefinite = (der: Buffer): Buffer => rewrite(der, indefiniteHeader)

const longTag =
  (...before: number[]): Header =>
  (tag, content) =>
    Buffer.concat([Buffer.of(tag | 0x1f, ...before, tag & 0x1f), shortHeader(0, content).subarray(1)])

/** Tag numbers in the long form. */
export const longTags = (der: Buffer): Buffer => rewrite(der, longTag())

// An end of contents is two zeros: a value without octets of the same number is none, however it is written.
const falseEnd =
  (...end: number[]): Header =>
  (tag, content) =>
    (tag & 0x20) === 0
      ? shortHeader(tag, content)
      : Buffer.concat([Buffer.of(tag, 0x80), content, Buffer.of(0x30, 0x80, ...end), Buffer.alloc(4)])

/** What some reader takes and another does not, by what is odd in it. */
export const oddHeaders: Readonly<Record<string, Header>> = {
  'a tag number after a zero': longTag(0x80),
  'a tag number after three zeros': longTag(0x80, 0x80, 0x80),
  'a tag number after four zeros': longTag(0x80, 0x80, 0x80, 0x80),
  'a tag number after many zeros': longTag(...Array<number>(40).fill(0x80)),
  'a tag number of more than 32 bits': longTag(0x90, 0x80, 0x80, 0x80, 0x80),
  'a length after many zeros': longLength(...Array<number>(100).fill(0)),
  'a length of more than 32 bits': longLength(1),
  'a constructed end of contents inside': falseEnd(0x20, 0x00),
  'an end of contents with a long length inside': falseEnd(0x00, 0x81, 0x00),
  'an end of contents with a long tag inside': falseEnd(0x1f, 0x00, 0x00),
}

/** Every header, from the innermost to the outermost, in the way that is chosen for it. */
export const encodedBy = (der: Buffer, choose: () => Header): Buffer =>
  rewrite(der, (tag, content) => choose()(tag, content))

/** All ways to write a header: as in DER, as BER has it, and odd ones. */
export const everyHeader: readonly Header[] = [
  shortHeader,
  longLength(),
  longTag(),
  indefiniteHeader,
  ...Object.values(oddHeaders),
]
