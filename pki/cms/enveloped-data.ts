// EnvelopedData (RFC 5652 6) as it is read: for whom, by which algorithms; nothing is decrypted here.
import { longestMessage, readWholeBer } from '../asn1/ber.ts'
import { DerError, type DerValue, expectTag, readOctetString, readSequence, readSet } from '../asn1/der-reader.ts'
import { tags } from '../asn1/der.ts'
import {
  type AlgorithmRules,
  type ContentCipher,
  getContentCipher,
  readAlgorithm,
  refuseAlgorithm,
} from './algorithms.ts'
import { readingCms } from './cms-error.ts'
import { contentTypes, readContentInfo } from './content-info.ts'
import { isKnownTransport } from './key-transport.ts'
import { hasSerial, isNamedBy, type Party, type PartyId, readParty, readPartyId } from './parties.ts'

/** A KeyTransRecipientInfo: who opens it, with the AlgorithmIdentifier and the octets of the encrypted key. */
export interface Recipient {
  readonly id: PartyId
  readonly transport: DerValue
  readonly encryptedKey: Buffer
}

/** A readable EnvelopedData. */
export interface EnvelopedData {
  readonly recipients: readonly Recipient[]
  readonly cipher: ContentCipher
  readonly iv: Buffer
  readonly encryptedContent: Buffer
}

const readRecipient = (value: DerValue): Recipient => {
  const [, id, transport, encryptedKey] = readSequence(value)
  return {
    id: readPartyId(id),
    transport: expectTag(transport, tags.sequence),
    encryptedKey: readOctetString(encryptedKey),
  }
}

// Definite pieces of BER stay constructed under an implicit tag, which a reader without the form cannot join.
const readEncryptedContent = (value: DerValue | undefined): Buffer =>
  value?.tag === 0xa0 ? Buffer.concat(value.children.map(readOctetString)) : expectTag(value, 0x80).content

const readIv = (parameters: DerValue | null, { blockOctets }: ContentCipher): Buffer => {
  const iv = readOctetString(parameters ?? undefined)
  if (iv.length !== blockOctets) throw new DerError('The initialisation vector is of another length')
  return iv
}

// Real messages have three at most: one for each certificate of GetCACert.
const mostRecipients = 100

const readRecipients = (value: DerValue | undefined): Recipient[] => {
  const all = readSet(value)
  if (all.length > mostRecipients) throw new DerError(`There are more than ${mostRecipients} recipients`)
  return all.filter(({ tag }) => tag === tags.sequence).map(readRecipient)
}

// Everybody can see it: no key needs to be tried.
const checkTransports = (recipients: readonly Recipient[]): void => {
  const [first] = recipients
  if (first && !recipients.some(({ transport }) => isKnownTransport(transport)))
    refuseAlgorithm(readAlgorithm(first.transport).dotted)
}

const readMembers = (value: DerValue, rules: AlgorithmRules): EnvelopedData => {
  const [version, ...members] = readContentInfo(value, contentTypes.envelopedData)
  expectTag(version, tags.integer)
  const [recipients, content] = members.slice(members[0]?.tag === 0xa0 ? 1 : 0)
  const [, algorithm, encrypted] = readSequence(content)
  const { dotted, parameters } = readAlgorithm(algorithm)
  const encryptedContent = readEncryptedContent(encrypted)
  const readable = readRecipients(recipients)
  const cipher = getContentCipher(dotted, rules)
  checkTransports(readable)
  return { recipients: readable, cipher, iv: readIv(parameters, cipher), encryptedContent }
}

/** How an envelope is read: of at most so many octets, 1 MiB unless another number is said, and by which algorithms. */
export interface EnvelopeRules extends AlgorithmRules {
  readonly most?: number
}

/**
 * Reads a ContentInfo with EnvelopedData, DER or BER (RFC 5652 6.1). CmsError MALFORMED when unreadable, ALGORITHM for a
 * content cipher that is not supported, such as DES where it is not allowed, and where no key comes by a known transport.
 */
export const readEnvelopedData = (
  bytes: Buffer,
  { most = longestMessage, ...rules }: EnvelopeRules = {},
): EnvelopedData => readingCms(() => readWholeBer(bytes, value => readMembers(value, rules), most))

/** One of several, and the recipient that it is. */
export interface Addressee<T> {
  readonly owner: T
  readonly recipient: Recipient
}

/**
 * The first recipient that is one of the parties, by key identifier, or issuer and serial number; where none is, the only
 * one whose serial number is that of a party: clients write names of issuers anew. Throws a DerError.
 */
export const findAddressee = <T extends { readonly party: Party }>(
  recipients: readonly Recipient[],
  owners: readonly T[],
): Addressee<T> | null => {
  const pairsThat = (fit: (party: Party, id: PartyId) => boolean): Addressee<T>[] =>
    recipients.flatMap(recipient =>
      owners.filter(({ party }) => fit(party, recipient.id)).map(owner => ({ owner, recipient })),
    )
  const [exact] = pairsThat(isNamedBy)
  if (exact) return exact
  const [bySerial, ...more] = pairsThat(hasSerial)
  return bySerial && more.length === 0 ? bySerial : null
}

/** Whether one of the certificates (DER) can open the message; CmsError MALFORMED for what is none. */
export const isAddressedTo = ({ recipients }: EnvelopedData, certificates: readonly Buffer[]): boolean =>
  readingCms(() => {
    const owners = certificates.map(certificate => ({ party: readParty(certificate) }))
    return findAddressee(recipients, owners) !== null
  })
