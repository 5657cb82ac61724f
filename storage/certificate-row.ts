// The columns of certificate and CA rows that the octets of the certificate alone decide, issued or imported.
import type { SubjectAlternativeName } from '../domain/address.ts'
import type { CryptoAlgorithm } from '../domain/enums.ts'
import { isStorableText, plainText } from './storable-text.ts'

/** What a certificate says; `pki` describes it in these words. */
export interface CertificateFacts {
  readonly der: Buffer
  readonly serialNumber: string
  readonly fingerprint: string
  readonly subjectDn: string
  readonly subjectCommonName: string | null
  readonly issuerDn: string
  readonly issuerCommonName: string | null
  readonly validNotBefore: Date
  readonly validNotAfter: Date
  readonly cryptoAlgorithm: CryptoAlgorithm | null
  readonly keySize: number | null
  readonly namedCurve: string | null
  readonly signatureAlgorithm: string
  readonly sans: readonly SubjectAlternativeName[]
  readonly keyUsages: readonly string[]
  readonly extendedKeyUsages: readonly string[]
  readonly crlDistributionPoints: readonly string[]
  readonly ocspUrls: readonly string[]
  readonly selfSigned: boolean
}

/** The columns of a certificate; the hash is that of its SubjectPublicKeyInfo. */
export const certificateColumns = (certificate: CertificateFacts, publicKeyHash: string) => ({
  der: certificate.der,
  serialNumber: certificate.serialNumber,
  fingerprint: certificate.fingerprint,
  subjectDn: certificate.subjectDn,
  subjectCommonName: certificate.subjectCommonName,
  issuerDn: certificate.issuerDn,
  // Nobody judges the names of issuers, as those of end entities are.
  issuerCommonName: plainText(certificate.issuerCommonName),
  validNotBefore: certificate.validNotBefore,
  validNotAfter: certificate.validNotAfter,
  certPublicKeyAlgorithm: certificate.cryptoAlgorithm ?? ('RSA' as const),
  certPublicKeySize: certificate.keySize,
  publicKeyHash,
  namedCurve: certificate.namedCurve,
  signatureAlgorithm: certificate.signatureAlgorithm,
  subjectAlternativeNames: [...certificate.sans],
  keyUsages: [...certificate.keyUsages],
  extendedKeyUsages: [...certificate.extendedKeyUsages],
  crlDistributionPoints: [...certificate.crlDistributionPoints],
  ocspUrls: [...certificate.ocspUrls],
  selfSigned: certificate.selfSigned,
})

/** The columns of a CA, whatever its names hold (contract 1.1); its own name is the common name at first. */
export const caColumns = (certificate: CertificateFacts) => ({
  name: plainText(certificate.subjectCommonName),
  subjectDn: certificate.subjectDn,
  subjectCommonName: plainText(certificate.subjectCommonName),
  issuerDn: certificate.issuerDn,
  issuerCommonName: plainText(certificate.issuerCommonName),
  serialNumber: certificate.serialNumber,
  fingerprint: certificate.fingerprint,
  validNotBefore: certificate.validNotBefore,
  validNotAfter: certificate.validNotAfter,
  publicKeyAlgorithm: certificate.cryptoAlgorithm ?? ('RSA' as const),
  der: certificate.der,
})

const max = { der: 256 * 1024, serialNumber: 40, namedCurve: 32, signatureAlgorithm: 64 } as const

const hasStorableDates = ({ validNotBefore, validNotAfter }: CertificateFacts): boolean =>
  validNotBefore.getUTCFullYear() > 0 && validNotAfter.getUTCFullYear() > 0

/** Whether the columns can hold a certificate that was issued elsewhere. */
export const isStorable = (certificate: CertificateFacts): boolean =>
  certificate.der.length <= max.der &&
  certificate.serialNumber.length <= max.serialNumber &&
  (certificate.namedCurve ?? '').length <= max.namedCurve &&
  certificate.signatureAlgorithm.length <= max.signatureAlgorithm &&
  hasStorableDates(certificate) &&
  [
    certificate.subjectDn,
    certificate.subjectCommonName ?? '',
    certificate.issuerDn,
    certificate.issuerCommonName ?? '',
    ...certificate.sans.map(({ value }) => value),
    ...certificate.crlDistributionPoints,
    ...certificate.ocspUrls,
  ].every(isStorableText)
