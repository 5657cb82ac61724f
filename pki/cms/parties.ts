// How CMS messages name certificates (RFC 5652 5.3, 6.2.1), and what a certificate is named by. Certificates of clients are
// made by themselves and break rules of RFC 5280, so no more of them is read than is needed.
import { hash } from 'node:crypto'
import { tags } from '../asn1/der.ts'
import {
  DerError,
  type DerValue,
  expectTag,
  readBitString,
  readDer,
  readLooseInteger,
  readOctetString,
  readOid,
  readSequence,
} from '../asn1/der-reader.ts'
import { extensionOids } from '../certificate/extensions.ts'

/** A certificate named by DER issuer name and the octets of its serial number. */
export interface IssuerAndSerial {
  readonly issuer: Buffer
  readonly serialNumber: Buffer
}

/** A certificate named by issuer and serial number, or by its key identifier. */
export type PartyId = IssuerAndSerial | { readonly keyIdentifier: Buffer }

/** What of a certificate messages need: `der`, issuer, subject and spki are DER. */
export interface Party extends IssuerAndSerial {
  readonly der: Buffer
  readonly subject: Buffer
  readonly spki: Buffer
  /** The DER extensions, null without any. */
  readonly extensions: DerValue | null
}

/** Reads IssuerAndSerialNumber (RFC 5652 10.2.4); throws a DerError. */
export const readIssuerAndSerial = (value: DerValue | undefined): IssuerAndSerial => {
  const [issuer, serialNumber, ...rest] = readSequence(value)
  if (rest.length > 0) throw new DerError('Issuer and serial number are followed by more')
  return { issuer: expectTag(issuer, tags.sequence).raw, serialNumber: readLooseInteger(serialNumber) }
}

/** Reads a SignerIdentifier or RecipientIdentifier; throws a DerError. */
export const readPartyId = (value: DerValue | undefined): PartyId =>
  value?.tag === 0x80 ? { keyIdentifier: value.content } : readIssuerAndSerial(value)

/** Reads a DER certificate as a party; throws a DerError. */
export const readParty = (der: Buffer): Party => {
  const [tbs] = readSequence(readDer(der))
  const members = readSequence(tbs)
  const [serialNumber, , issuer, , subject, publicKey, ...optional] = members.slice(members[0]?.tag === 0xa0 ? 1 : 0)
  const [extensions = null] = optional.find(({ tag }) => tag === 0xa3)?.children ?? []
  return {
    der,
    issuer: expectTag(issuer, tags.sequence).raw,
    serialNumber: readLooseInteger(serialNumber),
    subject: expectTag(subject, tags.sequence).raw,
    spki: expectTag(publicKey, tags.sequence).raw,
    extensions,
  }
}

const keyIdentifiersOf = ({ extensions, spki }: Party): Buffer[] => {
  const stated = (extensions ? readSequence(extensions) : [])
    .map(extension => readSequence(extension))
    .filter(([type]) => readOid(type) === extensionOids.subjectKeyIdentifier)
    .map(members => readOctetString(readDer(readOctetString(members.at(-1)))))
  // RFC 5280 4.2.1.2, method 1: what a certificate without the extension is named by.
  return stated.length > 0 ? stated : [hash('sha1', readBitString(readSequence(readDer(spki))[1]), 'buffer')]
}

const relativeNames = (issuer: Buffer): string =>
  readSequence(readDer(issuer))
    .map(({ raw }) => raw.toString('hex'))
    .toSorted()
    .join()

/** Whether the names have the same relative names, in any order. */
const isSameName = (one: Buffer, other: Buffer): boolean =>
  one.equals(other) || (one.length === other.length && relativeNames(one) === relativeNames(other))

/** Whether the identifier is that of the certificate; relative names may stand in another order. Throws a DerError. */
export const isNamedBy = (party: Party, id: PartyId): boolean =>
  'keyIdentifier' in id
    ? keyIdentifiersOf(party).some(identifier => identifier.equals(id.keyIdentifier))
    : hasSerial(party, id) && isSameName(party.issuer, id.issuer)

/** Whether the serial numbers at least are the same. */
export const hasSerial = (party: Party, id: PartyId): boolean =>
  'serialNumber' in id && party.serialNumber.equals(id.serialNumber)
