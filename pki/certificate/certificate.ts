// Certificates (RFC 5280): made in three separate steps - build, lint, sign - and any certificate described.
import { hash, type KeyObject, randomBytes } from 'node:crypto'
import type { SubjectAlternativeName } from '../../domain/address.ts'
import type { CryptoAlgorithm } from '../../domain/enums.ts'
import { Failure } from '../../domain/failure.ts'
import type { Validity } from '../../domain/validity.ts'
import type { KeyAlgorithm } from '../keys/algorithms.ts'
import { DerError } from '../asn1/der-reader.ts'
import * as read from './extension-reader.ts'
import { lint } from './lint.ts'
import { commonNameOf, readName } from '../names/name.ts'
import { formatName } from '../names/name-text.ts'
import { findObject } from '../pem.ts'
import { findPublicKeyDescription, type PublicKeyDescription } from '../keys/public-key.ts'
import { isSignedBy, readSigned, signatureName, signDer } from './signed.ts'
import { buildTbs, type Issuer, readingCertificate, readTbs, type TbsFields, type TbsInput } from './tbs-certificate.ts'
import type { KeyUsage } from './usages.ts'

/** The parts of making a certificate that callers see. */
export { buildTbs, type DistributionUrls, type Issuer, selfIssuer, type TbsInput } from './tbs-certificate.ts'
/** The check before a signature. */
export { lint, lintEdition, LintError } from './lint.ts'

/**
 * A certificate described. Buffers are DER, but `ski` and `aki` the identifiers themselves; names are RFC 4514 text,
 * serial number and SHA-256 fingerprint lower-case hex.
 */
export interface CertificateDescription {
  readonly der: Buffer
  readonly serialNumber: string
  readonly subjectDn: string
  readonly subjectCommonName: string | null
  readonly subjectNameDer: Buffer
  readonly issuerDn: string
  readonly issuerCommonName: string | null
  readonly issuerNameDer: Buffer
  readonly validNotBefore: Date
  readonly validNotAfter: Date
  readonly publicKeySpki: Buffer
  /** Null for an algorithm outside CryptoAlgorithm. */
  readonly cryptoAlgorithm: CryptoAlgorithm | null
  readonly keySize: number | null
  readonly namedCurve: string | null
  /** Null when algorithm, size or curve is none that the platform makes. */
  readonly keyAlgorithm: KeyAlgorithm | null
  /** The public name (such as SHA256_WITH_RSA), or the OID where it has none. */
  readonly signatureAlgorithm: string
  readonly sans: readonly SubjectAlternativeName[]
  readonly keyUsages: readonly KeyUsage[]
  readonly extendedKeyUsages: readonly string[]
  readonly crlDistributionPoints: readonly string[]
  readonly ocspUrls: readonly string[]
  readonly caIssuersUrls: readonly string[]
  readonly isCa: boolean
  readonly pathLength: number | null
  readonly ski: Buffer | null
  readonly aki: Buffer | null
  readonly fingerprint: string
  readonly selfSigned: boolean
}

/** A random serial number of 128 bits, lower-case hex (contract 10.2); never zero. */
export const generateSerialNumber = (): string => {
  const serial = serialText(randomBytes(16))
  return serial === '0' ? generateSerialNumber() : serial
}

const serialText = (octets: Buffer) => octets.toString('hex').replace(/^0+(.)/, '$1')

/** Signs a DER TBSCertificate in the libuv pool; the caller keeps the KeyObject, as importing one is slow. */
export const signTbs = (tbs: Buffer, issuerKey: KeyObject): Promise<Buffer> => signDer(tbs, issuerKey)

/** Builds, lints and signs: the DER certificate. LintError when the result would break RFC 5280. */
export const issueCertificate = (input: TbsInput, issuerKey: KeyObject): Promise<Buffer> => {
  const tbs = buildTbs(input)
  lint(tbs, input)
  return signTbs(tbs, issuerKey)
}

const unknownKey: PublicKeyDescription = { cryptoAlgorithm: 'RSA', keySize: null, namedCurve: null, algorithm: null }

const describeKey = ({ publicKey }: TbsFields) => {
  const found = findPublicKeyDescription(publicKey)
  const { keySize, namedCurve, algorithm } = found ?? unknownKey
  return {
    publicKeySpki: publicKey.raw,
    cryptoAlgorithm: found?.cryptoAlgorithm ?? null,
    keySize,
    namedCurve,
    keyAlgorithm: algorithm,
  }
}

const describeNames = ({ subject, issuer }: TbsFields) => {
  const [subjectName, issuerName] = [readName(subject), readName(issuer)]
  return {
    subjectDn: formatName(subjectName),
    subjectCommonName: commonNameOf(subjectName),
    subjectNameDer: subject.raw,
    issuerDn: formatName(issuerName),
    issuerCommonName: commonNameOf(issuerName),
    issuerNameDer: issuer.raw,
  }
}

const describeExtensions = ({ extensions }: TbsFields) => {
  return {
    sans: read.readSubjectAlternativeNames(extensions),
    keyUsages: read.readKeyUsages(extensions) ?? [],
    extendedKeyUsages: read.readExtendedKeyUsages(extensions),
    crlDistributionPoints: read.readCrlDistributionPoints(extensions),
    ocspUrls: read.readAccessUrls(extensions, 'ocsp'),
    caIssuersUrls: read.readAccessUrls(extensions, 'caIssuers'),
    ...read.readBasicConstraints(extensions),
    ski: read.readSubjectKeyIdentifier(extensions),
    aki: read.readAuthorityKeyIdentifier(extensions),
  }
}

/** What no certificate may be, whoever issued it (RFC 5280 4.1.2.1, 4.1.2.2, 4.1.2.5, 4.2). */
const flaws: readonly (readonly [string, (tbs: TbsFields) => boolean])[] = [
  ['The serial number is not positive', ({ serialNumber }) => (serialNumber[0] ?? 0) >= 0x80],
  ['The serial number is 0', ({ serialNumber }) => serialNumber.every(octet => octet === 0)],
  ['The validity ends before it begins', ({ validity }) => validity.notAfter < validity.notBefore],
  ['The version is none of 1, 2 and 3', ({ version }) => version < 0 || version > 2],
  ['Extensions are of version 3', ({ version, extensions }) => version !== 2 && extensions.length > 0],
  ['An extension stands twice', ({ extensions }) => new Set(extensions.map(({ oid }) => oid)).size < extensions.length],
]

const mustBeSound = (tbs: TbsFields): void => {
  const flaw = flaws.find(([, found]) => found(tbs))
  if (flaw) throw new DerError(flaw[0])
}

const describe = (der: Buffer): CertificateDescription => {
  const signed = readSigned(der)
  const tbs = readTbs(signed.contents)
  mustBeSound(tbs)
  if (!tbs.signature.raw.equals(signed.algorithmIdentifier.raw)) throw new DerError('Two signature algorithms')
  const selfIssued = tbs.issuer.raw.equals(tbs.subject.raw)
  return {
    der,
    serialNumber: serialText(tbs.serialNumber),
    ...describeNames(tbs),
    validNotBefore: tbs.validity.notBefore,
    validNotAfter: tbs.validity.notAfter,
    ...describeKey(tbs),
    signatureAlgorithm: signatureName(signed),
    ...describeExtensions(tbs),
    fingerprint: hash('sha256', der, 'hex'),
    selfSigned: selfIssued && isSignedBy(signed, tbs.publicKey.raw),
  }
}

/** Describes a DER certificate, exactly one, of any issuer; Failure INVALID_CERTIFICATE when it is unreadable. */
export const parseCertificate = (der: Buffer): CertificateDescription => readingCertificate(() => describe(der))

/** Describes the first certificate of PEM text (or bare base64); Failure INVALID_CERTIFICATE. */
export const parseCertificatePem = (pem: string): CertificateDescription =>
  parseCertificate(findObject('CERTIFICATE', pem) ?? Buffer.alloc(0))

/** The validity of a described certificate. */
export const validityOf = ({ validNotBefore, validNotAfter }: CertificateDescription): Validity => ({
  notBefore: validNotBefore,
  notAfter: validNotAfter,
})

/** What certificates below a CA certificate take from it; Failure NOT_A_CA when it cannot issue here. */
export const issuerOf = (ca: CertificateDescription): Issuer => {
  const { subjectNameDer, ski, keyAlgorithm } = ca
  if (!ca.isCa || !ski || !keyAlgorithm) throw new Failure('NOT_A_CA', 'The certificate is none that can issue')
  return { nameDer: subjectNameDer, keyIdentifier: ski, algorithm: keyAlgorithm, validity: validityOf(ca) }
}
