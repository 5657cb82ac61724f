// PKCS#10 certification requests (RFC 2986) with the attributes of PKCS#9 (RFC 2985): read, checked and made.
import { createPrivateKey } from 'node:crypto'
import type { SubjectAlternativeName } from '../domain/address.ts'
import { Failure } from '../domain/failure.ts'
import { context, integer, oid, printableString, sequence, setOf, utf8String } from './asn1/der.ts'
import { DerError, readInteger, readSequence } from './asn1/der-reader.ts'
import { subjectAlternativeName } from './certificate/extensions.ts'
import { checkSignature, readSigned, signatureName, signDer } from './certificate/signed.ts'
import type { KeyPair } from './keys/key-pair.ts'
import { describePublicKey } from './keys/public-key.ts'
import { encodeName, type Name, readName, type SubjectNameData, subjectName } from './names/name.ts'
import { formatName } from './names/name-text.ts'
import { type SubjectNames, subjectNamesOf } from './names/subject-data.ts'
import {
  attributeOids,
  readAttributes,
  readChallengePassword,
  readRequestedExtensions,
  readRequestedNames,
  unreadNames,
} from './pkcs10-attributes.ts'

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
  /** Whether the signature algorithm is one that can be checked here at all. */
  readonly signatureChecked: boolean
  /** What might hold a name that is not seen, one sentence each: such a request is refused (contract 5.4 step 9). */
  readonly unread: readonly string[]
  readonly hasChallengePassword: boolean
  /** A secret: never in an answer, a log or a workflow. */
  readonly challengePassword: string | null
}

const describe = (der: Buffer): Pkcs10Description => {
  const signed = readSigned(der)
  const [version, subject, publicKey, ...optional] = readSequence(signed.contents)
  if (!subject || !publicKey || !readInteger(version).equals(Buffer.of(0))) throw new DerError('The version is not 1')
  const attributes = readAttributes(optional)
  const extensions = readRequestedExtensions(attributes)
  const name = readName(subject)
  const proven = checkSignature(signed, publicKey.raw)
  return {
    der,
    name,
    subject: subjectNamesOf(name),
    subjectDn: formatName(name),
    sans: readRequestedNames(extensions),
    publicKeySpki: publicKey.raw,
    signatureAlgorithm: signatureName(signed),
    signatureValid: proven === true,
    signatureChecked: proven !== null,
    unread: unreadNames({ name, attributes, extensions }),
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

/**
 * The signature is right, which proves that the sender holds the key; else Failure INVALID_PKCS10. A key that is none of
 * ours is refused as such before (INVALID_PUBLIC_KEY, CRYPTO_RESTRICTION_VIOLATION): its signatures cannot be judged.
 */
export const mustBeProven = (request: Pkcs10Description): void => {
  const { publicKeySpki, signatureValid, signatureChecked, signatureAlgorithm } = request
  describePublicKey(publicKeySpki)
  if (signatureValid) return
  const reason = signatureChecked ? 'is wrong' : `cannot be checked: its algorithm is ${signatureAlgorithm}`
  throw new Failure('INVALID_PKCS10', `The signature of the PKCS#10 request ${reason}`)
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
