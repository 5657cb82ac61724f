// Texts in SCEP messages, which come in any string type.
import { tags } from '../asn1/der.ts'
import { DerError, type DerValue, findText } from '../asn1/der-reader.ts'

const mostCodePoint = 0x10_ffff

const decodeUniversal = (content: Buffer): string => {
  if (content.length % 4 !== 0) throw new DerError('The UniversalString has a part of a character')
  const points = Array.from({ length: content.length / 4 }, (_, place) => content.readUInt32BE(place * 4))
  if (points.some(point => point > mostCodePoint)) throw new DerError('The UniversalString is not of its type')
  return points.map(point => String.fromCodePoint(point)).join('')
}

/** The text of a value of any string type, UniversalString included, or null for another type; throws a DerError. */
export const findAnyText = (value: DerValue): string | null =>
  value.tag === tags.universalString ? decodeUniversal(value.content) : findText(value)
