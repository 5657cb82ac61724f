// OCSP requests (RFC 6960 4.1): read as a responder gets them from anybody, and written for responders of others.
import { context, sequence } from '../asn1/der.ts'
import {
  DerError,
  type DerValue,
  expectTag,
  longestObject,
  readDer,
  readInteger,
  readOid,
  readSequence,
} from '../asn1/der-reader.ts'
import type { Extension } from '../certificate/tbs-certificate.ts'
import { type CertId, type CertIdDigest, type CertIdIssuer, encodeCertId, readCertId } from './cert-id.ts'
import { mustKnowCritical, nonceExtension, ocspOids, readNonce, readOcspExtensions } from './ocsp-extensions.ts'
import { readingOcsp } from './ocsp-error.ts'

/** What a request asks. */
export interface OcspRequest {
  /** At least one, at most 32. */
  readonly certIds: readonly CertId[]
  /** 1 to 128 octets. */
  readonly nonce: Buffer | null
}

/** The most certificates that one request may ask about. */
export const mostCertIds = 32

/** Explicit tags of TBSRequest around its list, and of OCSPRequest. */
const [versionTag, requestorTag, extensionsTag, signatureTag, singleExtensionsTag] = [0xa0, 0xa1, 0xa2, 0xa0, 0xa0]

const mustBeFirstVersion = (wrapped: DerValue): void => {
  const [version, ...rest] = wrapped.children
  if (rest.length > 0 || !readInteger(version).equals(Buffer.of(0))) throw new DerError('The version is none of OCSP')
}

const readOne = (value: DerValue): CertId => {
  const [certId, extensions, ...rest] = readSequence(value)
  if (rest.length > 0) throw new DerError('A request has additional members')
  const wrapped = extensions && expectTag(extensions, singleExtensionsTag)
  mustKnowCritical(readOcspExtensions(wrapped), [])
  return readCertId(certId)
}

const readList = (value: DerValue | undefined): CertId[] => {
  const list = readSequence(value)
  if (list.length === 0 || list.length > mostCertIds) throw new DerError(`There are not 1 to ${mostCertIds} requests`)
  return list.map(readOne)
}

// RFC 6960 4.4.3: who accepts only other kinds of answers gets none here.
const mustAcceptBasic = (extensions: readonly Extension[]): void => {
  const found = extensions.find(({ oid }) => oid === ocspOids.acceptableResponses)
  const types = found ? readSequence(readDer(found.value)).map(readOid) : [ocspOids.basic]
  if (!types.includes(ocspOids.basic)) throw new DerError('No basic response is accepted')
}

const readTbs = (value: DerValue | undefined): OcspRequest => {
  const members = readSequence(value)
  const take = (tag: number) => (members[0]?.tag === tag ? members.shift() : undefined)
  const version = take(versionTag)
  if (version) mustBeFirstVersion(version)
  take(requestorTag)
  const certIds = readList(members.shift())
  const extensions = readOcspExtensions(take(extensionsTag))
  if (members.length > 0) throw new DerError('The request has members out of place')
  mustKnowCritical(extensions, [ocspOids.nonce, ocspOids.acceptableResponses])
  mustAcceptBasic(extensions)
  return { certIds, nonce: readNonce(extensions) }
}

// RFC 6960 4.1.1: the signature is there for responders that ask for one, which none here does.
const mustLookSigned = (wrapped: DerValue): void => {
  const [signature, ...rest] = expectTag(wrapped, signatureTag).children
  expectTag(signature, 0x30)
  if (rest.length > 0) throw new DerError('The signature has additional members')
}

/**
 * Reads a DER OCSPRequest of at most 64 KiB (RFC 6960 4.1.1) with at most 32 CertIDs; a signature is not looked at.
 * OcspError MALFORMED for whatever else, also for critical extensions that are not known and a nonce that has none or more
 * than 128 octets (RFC 9654 2.1).
 */
export const parseOcspRequest = (der: Buffer): OcspRequest =>
  readingOcsp(() => {
    const [tbs, signature, ...rest] = readSequence(readDer(der, undefined, longestObject))
    if (rest.length > 0) throw new DerError('The request has additional members')
    if (signature) mustLookSigned(signature)
    return readTbs(tbs)
  })

/** A question about one certificate. */
export interface OcspQuestion {
  /** Hexadecimal. */
  readonly serialNumber: string
  readonly issuer: CertIdIssuer
  /** 1 to 128 octets; null for none. */
  readonly nonce: Buffer | null
  /** SHA-1 unless told: every responder knows it (RFC 5019 2.1.1), and nothing rests on its strength. */
  readonly digest?: CertIdDigest
}

/** DER OCSPRequest, not signed. */
export const encodeOcspRequest = ({ serialNumber, issuer, nonce, digest }: OcspQuestion): Buffer =>
  sequence(
    sequence(
      sequence(sequence(encodeCertId(issuer, serialNumber, digest))),
      ...(nonce ? [context(2, sequence(nonceExtension(nonce)))] : []),
    ),
  )
