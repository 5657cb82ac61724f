// ContentInfo (RFC 5652 3), the outermost form of every CMS message.
import { context, oid, sequence } from '../asn1/der.ts'
import { DerError, type DerValue, expectTag, readOid, readSequence } from '../asn1/der-reader.ts'

/** The types of content. */
export const contentTypes = {
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  envelopedData: '1.2.840.113549.1.7.3',
} as const

/** The members of the content of a ContentInfo that has the type; throws a DerError. */
export const readContentInfo = (value: DerValue, type: string): DerValue[] => {
  const [contentType, content] = readSequence(value)
  if (readOid(contentType) !== type) throw new DerError('The content is of another type')
  const [inner, ...rest] = expectTag(content, 0xa0).children
  if (rest.length > 0) throw new DerError('The content is more than one value')
  return readSequence(inner)
}

/** DER ContentInfo around the finished content. */
export const contentInfo = (type: string, content: Buffer): Buffer => sequence(oid(type), context(0, content))
