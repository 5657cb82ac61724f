// The CertID by which OCSP names a certificate (RFC 6960 4.1.1): hashes of its issuer's name and key, and its serial number.
import { hash } from 'node:crypto'
import { derNull, integer, octetString, oid, sequence } from '../asn1/der.ts'
import {
  DerError,
  type DerValue,
  readDer,
  readInteger,
  readOctetString,
  readOid,
  readSequence,
} from '../asn1/der-reader.ts'
import { readPublicKeyParts } from '../keys/public-key.ts'

/** A CertID taken apart. */
export interface CertId {
  /** The whole DER, which an answer repeats. */
  readonly der: Buffer
  readonly hashOid: string
  /** The name of the digest for node:crypto; null for one that is not known here. */
  readonly digest: CertIdDigest | null
  readonly issuerNameHash: Buffer
  readonly issuerKeyHash: Buffer
  /** Lower-case hex as CertificateDescription has it. */
  readonly serialNumber: string
}

/** The part of an issuing CA that a CertID is made of: DER Name and DER SubjectPublicKeyInfo. */
export interface CertIdIssuer {
  readonly subjectNameDer: Buffer
  readonly publicKeySpki: Buffer
}

const digestOids = {
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
} as const

/** The digests of CertIDs, by their names in node:crypto. */
export type CertIdDigest = keyof typeof digestOids

const digestsByOid = new Map<string, CertIdDigest>()
for (const digest of ['sha1', 'sha256', 'sha384', 'sha512'] as const) digestsByOid.set(digestOids[digest], digest)

/** The most octets of a hash or a serial number; RFC 5280 4.1.2.2 has 20 for the latter. */
const longest = 64

const short = (octets: Buffer): Buffer => {
  if (octets.length > longest) throw new DerError(`A hash or number has more than ${longest} octets`)
  return octets
}

const readSerialNumber = (value: DerValue | undefined): string => {
  const octets = short(readInteger(value))
  if ((octets[0] ?? 0x80) >= 0x80) throw new DerError('The serial number is negative')
  return octets
    .toString('hex')
    .replace(/^(00)+(..)/, '$2')
    .replace(/^0(.)/, '$1')
}

/** Takes a CertID apart; throws a DerError. */
export const readCertId = (value: DerValue | undefined): CertId => {
  const [algorithm, nameHash, keyHash, serialNumber, ...rest] = readSequence(value)
  const [hashType, parameters, ...more] = readSequence(algorithm)
  if (!value || rest.length + more.length > 0) throw new DerError('The CertID is malformed')
  if (parameters && !parameters.raw.equals(derNull)) throw new DerError('The digest has parameters')
  const hashOid = readOid(hashType)
  return {
    der: value.raw,
    hashOid,
    digest: digestsByOid.get(hashOid) ?? null,
    issuerNameHash: short(readOctetString(nameHash)),
    issuerKeyHash: short(readOctetString(keyHash)),
    serialNumber: readSerialNumber(serialNumber),
  }
}

/** The hash of a key as CertIDs and responder ids have it: over the octets of the BIT STRING, of a DER SubjectPublicKeyInfo. */
export const keyHash = (publicKeySpki: Buffer, digest: CertIdDigest): Buffer =>
  hash(digest, readPublicKeyParts(readDer(publicKeySpki)).key, 'buffer')

/** DER CertID of a certificate by its issuer and its serial number (hex). */
export const encodeCertId = (issuer: CertIdIssuer, serialNumber: string, digest: CertIdDigest = 'sha1'): Buffer =>
  sequence(
    sequence(oid(digestOids[digest]), derNull),
    octetString(hash(digest, issuer.subjectNameDer, 'buffer')),
    octetString(keyHash(issuer.publicKeySpki, digest)),
    integer(serialNumber),
  )

/** Whether a CertID names the CA as the issuer; false for a digest that is not known here. */
export const isOfIssuer = ({ digest, issuerNameHash, issuerKeyHash }: CertId, issuer: CertIdIssuer): boolean =>
  digest !== null &&
  issuerNameHash.equals(hash(digest, issuer.subjectNameDer, 'buffer')) &&
  issuerKeyHash.equals(keyHash(issuer.publicKeySpki, digest))
