// PKCS#10 certification requests (RFC 2986) with the attributes of PKCS#9 (RFC 2985): read, checked and made.
import { createPrivateKey } from 'node:crypto'
import type { SubjectAlternativeName } from '../domain/address.ts'
import { Failure } from '../domain/failure.ts'
import { findSignatureAlgorithm } from './keys/algorithms.ts'
import { context, integer, oid, printableString, sequence, setOf, utf8String } from './asn1/der.ts'
import {
  DerError,
  type DerValue,
  expectTag,
  findText,
  readInteger,
  readOid,
  readSequence,
  readSet,
} from './asn1/der-reader.ts'
import { readSubjectAlternativeNames } from './certificate/extension-reader.ts'
import { subjectAlternativeName } from './certificate/extensions.ts'
import type { KeyPair } from './keys/key-pair.ts'
import { encodeName, type Name, readName, type SubjectNameData, subjectName } from './names/name.ts'
import { formatName } from './names/name-text.ts'
import { type SubjectNames, subjectNamesOf } from './names/subject-data.ts'
import { readPublicKeyParts } from './keys/public-key.ts'
import { isSignedBy, readSigned, signDer } from './certificate/signed.ts'
import { readExtension } from './certificate/tbs-certificate.ts'

/** A request described; `der` is its DER and `publicKeySpki` its DER SubjectPublicKeyInfo. */
export interface Pkcs10Description {
  readonly der: Buffer
  readonly name: Name
  readonly subject: SubjectNames
  readonly subjectDn: string
  readonly sans: readonly SubjectAlternativeName[]
  readonly publicKeySpki: Buffer
  /** The public name (such as SHA256_WITH_RSA), or the OID where it has none. */
  readonly signatureAlgorithm: string
  readonly signatureValid: boolean
  readonly hasChallengePassword: boolean
  /** A secret: never in an answer, a log or a workflow. */
  readonly challengePassword: string | null
}

const attributeOids = {
  challengePassword: '1.2.840.113549.1.9.7',
  extensionRequest: '1.2.840.113549.1.9.14',
  microsoftExtensionRequest: '1.3.6.1.4.1.311.2.1.14',
} as const

interface Attribute {
  readonly oid: string
  readonly values: readonly DerValue[]
}

const readAttribute = (value: DerValue): Attribute => {
  const [type, values, ...rest] = readSequence(value)
  if (rest.length > 0) throw new DerError('An attribute is malformed')
  return { oid: readOid(type), values: readSet(values) }
}

// Some programs leave the attributes out although RFC 2986 4.1 wants at least the empty set.
const readAttributes = (optional: readonly DerValue[]): Attribute[] => {
  const [attributes, ...rest] = optional
  if (rest.length > 0) throw new DerError('The request has additional members')
  return attributes ? expectTag(attributes, 0xa0).children.map(readAttribute) : []
}

const readChallengePassword = (attributes: readonly Attribute[]): string | null => {
  const [value] = attributes.find(({ oid }) => oid === attributeOids.challengePassword)?.values ?? []
  return value ? findText(value) : null
}

const readSans = (attributes: readonly Attribute[]): SubjectAlternativeName[] => {
  const types: readonly string[] = [attributeOids.extensionRequest, attributeOids.microsoftExtensionRequest]
  const [value] = attributes.find(({ oid }) => types.includes(oid))?.values ?? []
  return value ? readSubjectAlternativeNames(readSequence(value).map(readExtension)) : []
}

/** Far above a request of any algorithm with 200 names; a reader of longer ones would be busy for seconds. */
const maxOctets = 65_536

const describe = (der: Buffer): Pkcs10Description => {
  if (der.length > maxOctets) throw new DerError(`It has more than ${maxOctets} octets`)
  const signed = readSigned(der)
  const [version, subject, publicKey, ...optional] = readSequence(signed.contents)
  if (!subject || !publicKey || !readInteger(version).equals(Buffer.of(0))) throw new DerError('The version is not 1')
  const attributes = readAttributes(optional)
  const name = readName(subject)
  readPublicKeyParts(publicKey)
  return {
    der,
    name,
    subject: subjectNamesOf(name),
    subjectDn: formatName(name),
    sans: readSans(attributes),
    publicKeySpki: publicKey.raw,
    signatureAlgorithm: findSignatureAlgorithm(signed.algorithmOid)?.name ?? signed.algorithmOid,
    signatureValid: isSignedBy(signed, publicKey.raw),
    hasChallengePassword: attributes.some(({ oid }) => oid === attributeOids.challengePassword),
    challengePassword: readChallengePassword(attributes),
  }
}

/** Describes a DER CertificationRequest that fills the buffer; Failure INVALID_PKCS10 when unreadable. */
export const parsePkcs10 = (der: Buffer): Pkcs10Description => {
  try {
    return describe(der)
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    throw new Failure('INVALID_PKCS10', `The PKCS#10 request is unreadable: ${error.message}`)
  }
}

/** The signature is right, which proves that the sender holds the key; else Failure INVALID_PKCS10. */
export const mustBeProven = ({ signatureValid }: Pick<Pkcs10Description, 'signatureValid'>): void => {
  if (!signatureValid) throw new Failure('INVALID_PKCS10', 'The signature of the PKCS#10 request is wrong')
}

/** As parsePkcs10, and the signature must be right; Failure INVALID_PKCS10. */
export const checkPkcs10 = (der: Buffer): Pkcs10Description => {
  const description = parsePkcs10(der)
  mustBeProven(description)
  return description
}

/** The contents of a new request. */
export interface Pkcs10Input {
  readonly subject: SubjectNameData
  readonly sans: readonly SubjectAlternativeName[]
  readonly keys: KeyPair
  readonly challengePassword?: string | null | undefined
}

const attribute = (type: string, value: Buffer) => sequence(oid(type), setOf(value))

// RFC 2985 5.4.1 prefers PrintableString.
const challenge = (password: string) =>
  attribute(
    attributeOids.challengePassword,
    /^[A-Za-z0-9 '()+,\-./:=?]+$/.test(password) ? printableString(password) : utf8String(password),
  )

const attributesOf = ({ sans, challengePassword }: Pkcs10Input): Buffer[] => {
  const extensions = sans.length > 0 ? sequence(subjectAlternativeName(sans, false)) : null
  const parts = extensions ? [attribute(attributeOids.extensionRequest, extensions)] : []
  return challengePassword ? [...parts, challenge(challengePassword)] : parts
}

/** DER CertificationRequest, signed with the key's natural digest (contract 10.2). */
export const createPkcs10 = (input: Pkcs10Input): Promise<Buffer> => {
  const { subject, keys } = input
  const key = createPrivateKey({ key: keys.privateKeyPkcs8, format: 'der', type: 'pkcs8' })
  const attributes = attributesOf(input).toSorted((one, other) => Buffer.compare(one, other))
  const info = sequence(integer(0), encodeName(subjectName(subject)), keys.publicKeySpki, context(0, ...attributes))
  return signDer(info, key)
}
