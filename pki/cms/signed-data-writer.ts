// SignedData written (RFC 5652 5), definite DER, in two steps: what is to be signed, and the message with the signature,
// because the key is elsewhere.
import { hash } from 'node:crypto'
import { context, derNull, integer, octetString, oid, sequence, setOf, tags, tlv } from '../asn1/der.ts'
import { keyOids } from '../keys/algorithms.ts'
import { type DigestName, digests } from './algorithms.ts'
import { readingCms } from './cms-error.ts'
import { contentInfo, contentTypes } from './content-info.ts'
import { readParty } from './parties.ts'
import { signatureAttributeOids } from './signature.ts'

/** DER Attribute with one finished value. */
export const attribute = (type: string, value: Buffer): Buffer => sequence(oid(type), setOf(value))

/**
 * The DER SET OF Attribute (first octet 0x31) whose octets are signed (RFC 5652 5.4): contentType data, messageDigest of the
 * content, and the finished attributes, sorted.
 */
export const signedAttributes = (content: Buffer, digest: DigestName, attributes: readonly Buffer[]): Buffer =>
  setOf(
    attribute(signatureAttributeOids.contentType, oid(contentTypes.data)),
    attribute(signatureAttributeOids.messageDigest, octetString(hash(digests[digest].hash, content, 'buffer'))),
    ...attributes,
  )

/** What a SignedData is put together from; certificates are DER and keep their order. */
export interface SignedDataParts {
  readonly content: Buffer
  readonly digest: DigestName
  /** As `signedAttributes` made it; null: the content itself is signed (RFC 5652 5.4), which must be of the type data. */
  readonly signedAttributes: Buffer | null
  /** Over those octets: RSASSA-PKCS1-v1_5 unless `signatureAlgorithm` (DER AlgorithmIdentifier) says another. */
  readonly signature: Buffer
  readonly signatureAlgorithm?: Buffer
  readonly signer: Buffer
  readonly certificates: readonly Buffer[]
}

// Old clients know no other name for it (RFC 3370 3.2).
const rsaEncryption = sequence(oid(keyOids.rsaEncryption), derNull)

const signerInfo = (parts: SignedDataParts): Buffer => {
  const { digest, signedAttributes: signed, signature, signatureAlgorithm = rsaEncryption } = parts
  const { issuer, serialNumber } = readingCms(() => readParty(parts.signer))
  return sequence(
    integer(1),
    sequence(issuer, tlv(tags.integer, serialNumber)),
    digests[digest].identifier,
    ...(signed ? [Buffer.concat([Buffer.of(0xa0), signed.subarray(1)])] : []),
    signatureAlgorithm,
    octetString(signature),
  )
}

/** DER ContentInfo with SignedData; CmsError MALFORMED when the signer is no certificate. */
export const assembleSignedData = (parts: SignedDataParts): Buffer =>
  contentInfo(
    contentTypes.signedData,
    sequence(
      integer(1),
      setOf(digests[parts.digest].identifier),
      sequence(oid(contentTypes.data), context(0, octetString(parts.content))),
      context(0, ...parts.certificates),
      setOf(signerInfo(parts)),
    ),
  )
