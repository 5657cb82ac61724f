// The signed attributes that SCEP messages have (RFC 8894 3.2.1, RFC 5652 11), and the strict form that a service signs.
import { setOf, tags } from '../asn1/der.ts'
import { DerError, type DerValue, readDer, readOid, readSequence, readSet } from '../asn1/der-reader.ts'
import { type DigestName, digests } from '../cms/algorithms.ts'
import { contentTypes } from '../cms/content-info.ts'
import { signatureAttributeOids } from '../cms/signature.ts'
import { certRepType } from './vocabulary.ts'

/** The object identifiers of the attributes. */
export const attributeOids = {
  ...signatureAttributeOids,
  messageType: '2.16.840.1.113733.1.9.2',
  pkiStatus: '2.16.840.1.113733.1.9.3',
  failInfo: '2.16.840.1.113733.1.9.4',
  senderNonce: '2.16.840.1.113733.1.9.5',
  recipientNonce: '2.16.840.1.113733.1.9.6',
  transactionId: '2.16.840.1.113733.1.9.7',
  failInfoText: '1.3.6.1.5.5.7.24.1',
} as const

const { oid: oidTag, octetString, printableString, utf8String, ia5String, teletexString, bmpString } = tags

/** The string types; a client may write its transaction id in any. */
export const stringTags: readonly number[] = [
  printableString,
  utf8String,
  ia5String,
  teletexString,
  bmpString,
  tags.universalString,
]

// A transaction id is echoed in the string type of its client.
const valueTags: Readonly<Record<string, readonly number[] | undefined>> = {
  [attributeOids.contentType]: [oidTag],
  [attributeOids.messageDigest]: [octetString],
  [attributeOids.messageType]: [printableString],
  [attributeOids.pkiStatus]: [printableString],
  [attributeOids.failInfo]: [printableString],
  [attributeOids.senderNonce]: [octetString],
  [attributeOids.recipientNonce]: [octetString],
  [attributeOids.transactionId]: stringTags,
  [attributeOids.failInfoText]: [utf8String],
}

const readOnly = (attribute: DerValue): readonly [string, DerValue] => {
  const [type, values, ...rest] = readSequence(attribute)
  const [value, ...more] = readSet(values)
  if (!value || more.length > 0 || rest.length > 0) throw new DerError('An attribute has not exactly one value')
  const dotted = readOid(type)
  if (!valueTags[dotted]?.includes(value.tag)) throw new DerError('An attribute is none of SCEP')
  return [dotted, value]
}

const isSorted = (der: Buffer, attributes: readonly DerValue[]): boolean =>
  setOf(...attributes.map(({ raw }) => raw)).equals(der)

const isCertRep = (der: Buffer, digestName: DigestName): boolean => {
  const attributes = readSet(readDer(der))
  const values = new Map(attributes.map(readOnly))
  const contentType = values.get(attributeOids.contentType)
  return (
    values.size === attributes.length &&
    isSorted(der, attributes) &&
    contentType !== undefined &&
    readOid(contentType) === contentTypes.data &&
    values.get(attributeOids.messageDigest)?.content.length === digests[digestName].octets &&
    values.get(attributeOids.messageType)?.content.toString('latin1') === certRepType
  )
}

/**
 * Whether the octets are the signed attributes of a SCEP reply and nothing else (RFC 8894 3.3.2): a DER SET OF Attribute of
 * SCEP, each once and single-valued, with contentType data, a messageDigest of the digest's length and messageType 3.
 */
export const isScepSignedAttributes = (der: Buffer, digestName: DigestName): boolean => {
  try {
    return isCertRep(der, digestName)
  } catch (error) {
    if (error instanceof DerError) return false
    throw error
  }
}
