// The ProtectedPart of a CMP message (RFC 9810 5.1.3): what a signature or a MAC of CMP is made over. Its header is read
// whole; of the body only that it is one, for whoever protects a message answers for its kind and not for its content.
import { tags } from '../asn1/der.ts'
import {
  DerError,
  type DerValue,
  expectTag,
  readDer,
  readGeneralizedTime,
  readInteger,
  readOctetString,
  readOid,
  readSequence,
} from '../asn1/der-reader.ts'
import { readingCmp } from './cmp-error.ts'

/** An AlgorithmIdentifier: its OID, dotted, and its parameters, if there are any. */
export interface AlgorithmIdentifier {
  readonly oid: string
  readonly parameters: DerValue | undefined
}

/** A part of a message that is to be protected. */
export interface ProtectedPart {
  /** How the header says that it is protected; null where it says nothing. */
  readonly protectionAlg: AlgorithmIdentifier | null
  /** The number of the body's kind: 0 ir, 1 ip … 26 pollRep (RFC 9810 5.1.2). */
  readonly bodyType: number
}

/** The most octets of a part that is protected here. */
export const longestProtectedPart = 1_048_576

const mostItems = 100
const lastBodyType = 26
/** The only bodies that are no SEQUENCE: pkiconf is NULL, ckuann may be [0] as well (RFC 9810 5.3.13). */
const [ckuann, pkiconf] = [15, 19]

/** otherName, x400Address, directoryName and ediPartyName are constructed, the others are not. */
const generalNameTags = [0xa0, 0x81, 0x82, 0xa3, 0xa4, 0xa5, 0x86, 0x87, 0x88]
const directoryNameTag = 0xa4

/** Reads an AlgorithmIdentifier; DerError. */
export const readAlgorithm = (value: DerValue | undefined): AlgorithmIdentifier => {
  const [algorithm, parameters, ...rest] = readSequence(value)
  if (rest.length > 0) throw new DerError('An algorithm identifier has additional members')
  return { oid: readOid(algorithm), parameters }
}

const versions = [1, 2, 3].map(number => Buffer.of(number))

const mustBeVersion = (value: DerValue | undefined): void => {
  const version = readInteger(value)
  if (!versions.some(known => known.equals(version))) throw new DerError('The version is none of CMP')
}

const mustBeName = (value: DerValue | undefined): void => {
  if (!value || !generalNameTags.includes(value.tag)) throw new DerError('A general name was expected')
  if (value.tag !== directoryNameTag) return
  const [name, ...rest] = value.children
  expectTag(name, tags.sequence)
  if (rest.length > 0) throw new DerError('A directory name has additional members')
}

const mustBeList = (value: DerValue, item: (member: DerValue) => void): void => {
  const items = readSequence(value)
  if (items.length === 0 || items.length > mostItems) throw new DerError(`There are not 1 to ${mostItems} items`)
  items.forEach(item)
}

const mustBeInfo = (value: DerValue): void => {
  const [type, , ...rest] = readSequence(value)
  readOid(type)
  if (rest.length > 0) throw new DerError('An information has additional members')
}

/** The optional members of a header in their order, each within its explicit tag (RFC 9810 5.1.1). */
const optionalMembers: readonly ((value: DerValue) => unknown)[] = [
  readGeneralizedTime, // messageTime
  readAlgorithm, // protectionAlg
  readOctetString, // senderKID
  readOctetString, // recipKID
  readOctetString, // transactionID
  readOctetString, // senderNonce
  readOctetString, // recipNonce
  value => mustBeList(value, text => expectTag(text, tags.utf8String)), // freeText
  value => mustBeList(value, mustBeInfo), // generalInfo
]
const protectionAlgAt = 1

const explicit = ({ tag, children }: DerValue): readonly [number, DerValue] => {
  const [inner, ...rest] = children
  if (!inner || rest.length > 0) throw new DerError('A tagged value was expected')
  return [tag - 0xa0, inner]
}

const readHeader = (value: DerValue | undefined): AlgorithmIdentifier | null => {
  const [version, sender, recipient, ...optional] = readSequence(value)
  mustBeVersion(version)
  mustBeName(sender)
  mustBeName(recipient)
  let last = -1
  let protectionAlg: AlgorithmIdentifier | null = null
  for (const [at, inner] of optional.map(explicit)) {
    const read = optionalMembers[at]
    if (!read || at <= last) throw new DerError('The header has members out of place')
    const member = read(inner)
    if (at === protectionAlgAt) protectionAlg = member as AlgorithmIdentifier
    last = at
  }
  return protectionAlg
}

const bodyTags = (type: number): readonly number[] => {
  if (type === pkiconf) return [tags.null]
  return type === ckuann ? [tags.sequence, 0xa0] : [tags.sequence]
}

const readBody = (value: DerValue | undefined): number => {
  if (!value) throw new DerError('The body is missing')
  const [type, inner] = explicit(value)
  if (type < 0 || type > lastBodyType) throw new DerError('The body is none of CMP')
  if (!bodyTags(type).includes(inner.tag)) throw new DerError('The body is not of its kind')
  return type
}

/**
 * Reads a DER ProtectedPart of at most 1 MiB (RFC 9810 5.1.3): SEQUENCE { header PKIHeader, body PKIBody }, whose header has
 * the members of RFC 9810 5.1.1 in their order. CmpError for whatever else; the content of the body is not looked at.
 */
export const parseProtectedPart = (der: Buffer): ProtectedPart =>
  readingCmp(() => {
    const [header, body, ...rest] = readSequence(readDer(der, undefined, longestProtectedPart))
    if (rest.length > 0) throw new DerError('The part has additional members')
    return { protectionAlg: readHeader(header), bodyType: readBody(body) }
  })
