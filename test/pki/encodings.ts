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

/** Lengths of four octets, whatever they are. */
export const longLengths = (der: Buffer): Buffer =>
  rewrite(der, (tag, content) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(content.length)
    return Buffer.concat([Buffer.of(tag, 0x84), length, content])
  })

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

/** Tag numbers in the long form. */
export const longTags = (der: Buffer): Buffer =>
  rewrite(der, (tag, content) =>
    Buffer.concat([Buffer.of(tag | 0x1f, tag & 0x1f), shortHeader(0, content).subarray(1)]),
  )
