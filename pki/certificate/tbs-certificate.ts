// The part of a certificate that is signed (TBSCertificate, RFC 5280 4.1.2): built from a template, and taken apart.
import type { SubjectAlternativeName } from '../../domain/address.ts'
import { Failure } from '../../domain/failure.ts'
import type { Validity } from '../../domain/validity.ts'
import { getKeyAlgorithm, type KeyAlgorithm } from '../keys/algorithms.ts'
import { context, integer, sequence, tags, time } from '../asn1/der.ts'
import {
  DerError,
  type DerValue,
  expectTag,
  readBoolean,
  readInteger,
  readOctetString,
  readOid,
  readSequence,
  readTime,
} from '../asn1/der-reader.ts'
import * as extensions from './extensions.ts'
import { keyUsagesFor, type Template } from './templates.ts'
import { getPublicKeyAlgorithm, keyIdentifier } from '../keys/public-key.ts'

/** What a certificate takes from its issuer: DER Name, key identifier, key kind and validity. */
export interface Issuer {
  readonly nameDer: Buffer
  readonly keyIdentifier: Buffer
  readonly algorithm: KeyAlgorithm
  readonly validity: Validity
}

/** Where relying parties find status and issuer; absolute URLs in ASCII. */
export interface DistributionUrls {
  readonly crl: readonly string[]
  /** Of delta CRLs. */
  readonly freshestCrl: readonly string[]
  readonly ocsp: readonly string[]
  readonly caIssuers: readonly string[]
}

/** Everything that makes up a certificate except the signature. */
export interface TbsInput {
  /** Hexadecimal, positive, at most 20 octets once encoded. */
  readonly serialNumber: string
  readonly issuer: Issuer
  /** DER Name. */
  readonly subjectDer: Buffer
  readonly validity: Validity
  /** DER SubjectPublicKeyInfo, copied octet by octet. */
  readonly publicKeySpki: Buffer
  readonly template: Template
  readonly sans: readonly SubjectAlternativeName[]
  /** Null below no one: the root's own certificate names no status. */
  readonly urls: DistributionUrls | null
}

/** The issuer of a self-signed certificate: itself. */
export const selfIssuer = (subjectDer: Buffer, publicKeySpki: Buffer, validity: Validity): Issuer => ({
  nameDer: subjectDer,
  keyIdentifier: keyIdentifier(publicKeySpki),
  algorithm: getPublicKeyAlgorithm(publicKeySpki),
  validity,
})

const versionThree = context(0, integer(2))
const emptyNameLength = 2

const templateExtensions = (template: Template, algorithm: KeyAlgorithm): Buffer[] => {
  const { extendedKeyUsages, policyOids } = template
  const parts = [
    extensions.basicConstraints(template.isCa, template.pathLength),
    extensions.keyUsage(keyUsagesFor(template, algorithm.spec)),
  ]
  if (extendedKeyUsages.length > 0) parts.push(extensions.extendedKeyUsage(extendedKeyUsages))
  if (policyOids.length > 0) parts.push(extensions.certificatePolicies(policyOids))
  if (template.ocspNoCheck) parts.push(extensions.ocspNoCheck())
  return parts
}

const templateCache = new WeakMap<Template, Map<KeyAlgorithm, Buffer[]>>()

// They are the same in every certificate of the template and kind of key.
const cachedTemplateExtensions = (template: Template, algorithm: KeyAlgorithm): Buffer[] => {
  const byAlgorithm = templateCache.get(template) ?? new Map<KeyAlgorithm, Buffer[]>()
  templateCache.set(template, byAlgorithm)
  const parts = byAlgorithm.get(algorithm) ?? templateExtensions(template, algorithm)
  byAlgorithm.set(algorithm, parts)
  return parts
}

const urlExtensions = ({ crl, freshestCrl, ocsp, caIssuers }: DistributionUrls): Buffer[] => {
  const parts: Buffer[] = []
  if (crl.length > 0) parts.push(extensions.crlDistributionPoints(crl))
  if (freshestCrl.length > 0) parts.push(extensions.freshestCrl(freshestCrl))
  if (ocsp.length + caIssuers.length > 0) parts.push(extensions.authorityInformationAccess(ocsp, caIssuers))
  return parts
}

const allExtensions = ({ issuer, subjectDer, publicKeySpki, template, sans, urls }: TbsInput): Buffer[] => {
  const isSubjectEmpty = subjectDer.length === emptyNameLength
  return [
    ...cachedTemplateExtensions(template, getPublicKeyAlgorithm(publicKeySpki)),
    extensions.subjectKeyIdentifier(keyIdentifier(publicKeySpki)),
    extensions.authorityKeyIdentifier(issuer.keyIdentifier),
    ...(sans.length > 0 ? [extensions.subjectAlternativeName(sans, isSubjectEmpty)] : []),
    ...(urls ? urlExtensions(urls) : []),
  ]
}

/** DER TBSCertificate, version 3; Failures as getPublicKeyAlgorithm, TypeError for a name that cannot be written. */
export const buildTbs = (input: TbsInput): Buffer => {
  const { issuer, subjectDer, validity, publicKeySpki } = input
  return sequence(
    versionThree,
    integer(input.serialNumber),
    getKeyAlgorithm(issuer.algorithm.spec).signature.identifier,
    issuer.nameDer,
    sequence(time(validity.notBefore), time(validity.notAfter)),
    subjectDer,
    publicKeySpki,
    context(3, sequence(...allExtensions(input))),
  )
}

/** One extension of a certificate or request. */
export interface Extension {
  readonly oid: string
  readonly critical: boolean
  readonly value: Buffer
}

/** A TBSCertificate taken apart; `version` is the number on the wire, 2 for version 3. */
export interface TbsFields {
  readonly version: number
  readonly serialNumber: Buffer
  readonly signature: DerValue
  readonly issuer: DerValue
  readonly notBefore: DerValue
  readonly notAfter: DerValue
  readonly validity: Validity
  readonly subject: DerValue
  readonly publicKey: DerValue
  /** Whether issuer or subject has a unique identifier, which nobody uses. */
  readonly uniqueIdentifiers: boolean
  readonly extensions: readonly Extension[]
}

/** DER Extension taken apart; throws a DerError. */
export const readExtension = (value: DerValue): Extension => {
  const [type, ...rest] = readSequence(value)
  const critical = rest.length === 2 && rest[0] !== undefined && readBoolean(rest[0])
  if (rest.length < 1 || rest.length > 2) throw new DerError('An extension is malformed')
  return { oid: readOid(type), critical, value: readOctetString(rest.at(-1)) }
}

const readExtensions = (optional: readonly DerValue[]): Extension[] => {
  const wrapped = optional.find(({ tag }) => tag === 0xa3)
  if (!wrapped) return []
  const [list, ...rest] = wrapped.children
  if (rest.length > 0) throw new DerError('The extensions are malformed')
  return readSequence(list).map(readExtension)
}

const readVersion = (value: DerValue): number => {
  const [version, ...rest] = value.children
  const octets = readInteger(version)
  if (octets.length > 1 || rest.length > 0) throw new DerError('The version is malformed')
  return octets[0] ?? 0
}

// Members of RFC 5280 4.1 that come after the key, in this order.
const optionalTags = [0x81, 0x82, 0xa3]

const checkOptional = (optional: readonly DerValue[]): void => {
  const places = optional.map(({ tag }) => optionalTags.indexOf(tag))
  const ordered = places.every((place, index) => place > (places[index - 1] ?? -1))
  if (!ordered) throw new DerError('The certificate has members out of place')
}

/** Takes a TBSCertificate apart; throws a DerError. */
export const readTbs = (tbs: DerValue): TbsFields => {
  const members = readSequence(tbs)
  const [first] = members
  const hasVersion = first?.tag === 0xa0
  const [serialNumber, signature, issuer, dates, subject, publicKey, ...optional] = members.slice(hasVersion ? 1 : 0)
  const [notBefore, notAfter, ...rest] = readSequence(dates)
  if (!signature || !notBefore || !notAfter || rest.length > 0) throw new DerError('The certificate is malformed')
  checkOptional(optional)
  return {
    version: hasVersion ? readVersion(first) : 0,
    serialNumber: readInteger(serialNumber),
    signature: expectTag(signature, tags.sequence),
    issuer: expectTag(issuer, tags.sequence),
    notBefore,
    notAfter,
    validity: { notBefore: readTime(notBefore), notAfter: readTime(notAfter) },
    subject: expectTag(subject, tags.sequence),
    publicKey: expectTag(publicKey, tags.sequence),
    uniqueIdentifiers: optional.some(({ tag }) => tag !== 0xa3),
    extensions: readExtensions(optional),
  }
}

/** The result of a reader of certificates; its DerError becomes Failure INVALID_CERTIFICATE. */
export const readingCertificate = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    throw new Failure('INVALID_CERTIFICATE', `The certificate is unreadable: ${error.message}`)
  }
}
