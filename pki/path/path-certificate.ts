// A certificate as path validation looks at it (RFC 5280 6.1): read once, whatever paths it is tried in.
import { hash } from 'node:crypto'
import type { Validity } from '../../domain/validity.ts'
import { integer, tags, tlv } from '../asn1/der.ts'
import { DerError } from '../asn1/der-reader.ts'
import * as read from '../certificate/extension-reader.ts'
import { type Signed, readSigned } from '../certificate/signed.ts'
import { type Extension, readingCertificate, readTbs } from '../certificate/tbs-certificate.ts'
import type { KeyUsage } from '../certificate/usages.ts'
import { readName } from '../names/name.ts'
import { formatName } from '../names/name-text.ts'
import { comparableName } from './comparable-name.ts'

/** A certificate taken apart; buffers are DER, but the key identifiers, which are themselves. */
export interface PathCertificate {
  readonly der: Buffer
  /** SHA-256, lower-case hex. */
  readonly fingerprint: string
  readonly signed: Signed
  /** Lower-case hex; with a minus before the octets of a negative one, which others have issued (RFC 5280 4.1.2.2). */
  readonly serialNumber: string
  /** RFC 4514, for people. */
  readonly subjectDn: string
  readonly issuerDn: string
  /** Comparable names. */
  readonly subject: string
  readonly issuer: string
  readonly validity: Validity
  readonly publicKeySpki: Buffer
  readonly extensions: readonly Extension[]
  readonly isCa: boolean
  readonly pathLength: number | null
  readonly keyUsages: readonly KeyUsage[] | null
  readonly ski: Buffer | null
  readonly aki: Buffer | null
}

/** The content octets of a serial number as lower-case hex without zeros before it. */
export const serialText = (content: Buffer): string => {
  const text = content.toString('hex')
  return (content[0] ?? 0) >= 0x80 ? `-${text}` : text.replace(/^0+(.)/, '$1')
}

/** The DER INTEGER of a serial number as `serialText` writes it. */
export const serialInteger = (text: string): Buffer =>
  text.startsWith('-') ? tlv(tags.integer, Buffer.from(text.slice(1), 'hex')) : integer(text)

const readKnown = (extensions: readonly Extension[]) => ({
  ...read.readBasicConstraints(extensions),
  keyUsages: read.readKeyUsages(extensions),
  ski: read.readSubjectKeyIdentifier(extensions),
  aki: read.readAuthorityKeyIdentifier(extensions),
})

// Read for their form alone: what cannot be read is no certificate for any other operation either.
const mustBeReadable = (extensions: readonly Extension[]): void => {
  read.readSubjectAlternativeNames(extensions)
  read.readExtendedKeyUsages(extensions)
}

const mustBeOfItsVersion = (version: number, extensions: readonly Extension[]): void => {
  if (version < 0 || version > 2) throw new DerError('The version is none of 1, 2 and 3')
  if (version !== 2 && extensions.length > 0) throw new DerError('Extensions are of version 3')
  if (new Set(extensions.map(({ oid }) => oid)).size < extensions.length)
    throw new DerError('An extension stands twice')
}

const take = (der: Buffer): PathCertificate => {
  const signed = readSigned(der)
  const { version, serialNumber, signature, subject, issuer, validity, publicKey, extensions } = readTbs(
    signed.contents,
  )
  mustBeOfItsVersion(version, extensions)
  mustBeReadable(extensions)
  if (!signature.raw.equals(signed.algorithmIdentifier.raw)) throw new DerError('Two signature algorithms')
  return {
    der,
    fingerprint: hash('sha256', der, 'hex'),
    signed,
    serialNumber: serialText(serialNumber),
    subjectDn: formatName(readName(subject)),
    issuerDn: formatName(readName(issuer)),
    subject: comparableName(subject),
    issuer: comparableName(issuer),
    validity,
    publicKeySpki: publicKey.raw,
    extensions,
    ...readKnown(extensions),
  }
}

/** Takes a DER certificate apart, exactly one of at most 64 KiB; Failure INVALID_CERTIFICATE when it is unreadable. */
export const readPathCertificate = (der: Buffer): PathCertificate => readingCertificate(() => take(der))

/** Whether two certificates are of one name and key (RFC 4158 2.4.1). */
export const isSameEntity = (one: PathCertificate, other: PathCertificate): boolean =>
  one === other || (one.subject === other.subject && one.publicKeySpki.equals(other.publicKeySpki))

/** Whether issuer and subject are one name (RFC 5280 3.2), by whatever key it is signed. */
export const isSelfIssued = ({ subject, issuer }: PathCertificate): boolean => subject === issuer
