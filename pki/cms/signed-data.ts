// SignedData (RFC 5652 5) as it is read: structure here, the judgement of signatures in signature.ts.
import { tags } from '../asn1/der.ts'
import {
  DerError,
  type DerValue,
  expectTag,
  readOctetString,
  readOid,
  readSequence,
  readSet,
} from '../asn1/der-reader.ts'
import { type Attribute, readAttributes } from '../pkcs10-attributes.ts'
import { contentTypes, readContentInfo } from './content-info.ts'
import { type PartyId, readPartyId } from './parties.ts'

/** A SignerInfo; `signedAttributes` is the DER SET OF Attribute in the order received, null without any. */
export interface SignerInfo {
  readonly id: PartyId
  readonly digestAlgorithm: DerValue
  readonly signedAttributes: Buffer | null
  readonly attributes: readonly Attribute[]
  readonly signatureAlgorithm: DerValue
  readonly signature: Buffer
}

/** A readable SignedData; certificates and CRLs are raw DER in their order, the content null when it is left out. */
export interface SignedData {
  readonly content: Buffer | null
  readonly certificates: readonly Buffer[]
  readonly crls: readonly Buffer[]
  readonly signerInfos: readonly SignerInfo[]
}

/** All values of the signed attributes of one type. */
export const attributeValues = ({ attributes }: SignerInfo, dotted: string): readonly DerValue[] =>
  attributes.filter(({ oid }) => oid === dotted).flatMap(({ values }) => values)

const readSignerInfo = (value: DerValue): SignerInfo => {
  const [version, id, digestAlgorithm, ...optional] = readSequence(value)
  expectTag(version, tags.integer)
  const signed = optional[0]?.tag === 0xa0 ? optional[0] : null
  const [signatureAlgorithm, signature] = optional.slice(signed ? 1 : 0)
  return {
    id: readPartyId(id),
    digestAlgorithm: expectTag(digestAlgorithm, tags.sequence),
    // RFC 5652 5.4: what is signed has the tag of a SET.
    signedAttributes: signed ? Buffer.concat([Buffer.of(tags.set), signed.raw.subarray(1)]) : null,
    attributes: signed ? readAttributes([signed]) : [],
    signatureAlgorithm: expectTag(signatureAlgorithm, tags.sequence),
    signature: readOctetString(signature),
  }
}

const readContent = (encapsulated: DerValue | undefined): Buffer | null => {
  const [type, content] = readSequence(encapsulated)
  if (readOid(type) !== contentTypes.data) throw new DerError('The signed content is no data')
  return content ? readOctetString(expectTag(content, 0xa0).children[0]) : null
}

// A chain and some more; each certificate is looked at for the signer.
const mostCertificates = 100

// Certificates and CRLs of other forms have tags of their own (RFC 5652 10.2.1, 10.2.2).
const rawSequences = (value: DerValue | undefined): Buffer[] => {
  const found = (value?.children ?? []).filter(({ tag }) => tag === tags.sequence).map(({ raw }) => raw)
  if (found.length > mostCertificates) throw new DerError(`There are more than ${mostCertificates} certificates`)
  return found
}

/** Reads a ContentInfo with SignedData of type data; throws a DerError. */
export const readSignedData = (value: DerValue): SignedData => {
  const [version, digestAlgorithms, encapsulated, ...optional] = readContentInfo(value, contentTypes.signedData)
  expectTag(version, tags.integer)
  expectTag(digestAlgorithms, tags.set)
  return {
    content: readContent(encapsulated),
    certificates: rawSequences(optional.find(({ tag }) => tag === 0xa0)),
    crls: rawSequences(optional.find(({ tag }) => tag === 0xa1)),
    signerInfos: readSet(optional.at(-1)).map(readSignerInfo),
  }
}
