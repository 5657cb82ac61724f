// Certificate extensions (RFC 5280 4.2): object identifiers and DER of each.
import type { SubjectAlternativeName } from '../../domain/address.ts'
import { context, derNull, derTrue, implicit, integer, namedBits, octetString, oid, sequence } from '../asn1/der.ts'
import { encodeGeneralNames } from '../names/general-name.ts'
import { findExtendedKeyUsageOid, isForTimeStamps, type KeyUsage, keyUsageNames } from './usages.ts'

/** Object identifiers of the extensions that are read or written. */
export const extensionOids = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  crlDistributionPoints: '2.5.29.31',
  certificatePolicies: '2.5.29.32',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  freshestCrl: '2.5.29.46',
  authorityInformationAccess: '1.3.6.1.5.5.7.1.1',
  ocspNoCheck: '1.3.6.1.5.5.7.48.1.5',
} as const

/** Object identifiers of the access methods of RFC 5280 4.2.2.1. */
export const accessMethods = { ocsp: '1.3.6.1.5.5.7.48.1', caIssuers: '1.3.6.1.5.5.7.48.2' } as const

/** DER Extension. */
export const extension = (dotted: string, value: Buffer, critical = false): Buffer =>
  critical ? sequence(oid(dotted), derTrue, octetString(value)) : sequence(oid(dotted), octetString(value))

/** Subject key identifier (4.2.1.2). */
export const subjectKeyIdentifier = (identifier: Buffer): Buffer =>
  extension(extensionOids.subjectKeyIdentifier, octetString(identifier))

/** Authority key identifier with the key identifier alone (4.2.1.1). */
export const authorityKeyIdentifier = (identifier: Buffer): Buffer =>
  extension(extensionOids.authorityKeyIdentifier, sequence(implicit(0, identifier)))

/** Key usage, critical (4.2.1.3). */
export const keyUsage = (usages: readonly KeyUsage[]): Buffer =>
  extension(extensionOids.keyUsage, namedBits(usages.map(usage => keyUsageNames.indexOf(usage))), true)

/** Extended key usage by names or OIDs (4.2.1.12); critical for time stamps (RFC 3161 2.3). */
export const extendedKeyUsage = (usages: readonly string[]): Buffer =>
  extension(
    extensionOids.extendedKeyUsage,
    sequence(...usages.map(usage => oid(findExtendedKeyUsageOid(usage) ?? usage))),
    isForTimeStamps(usages),
  )

/** Basic constraints, critical (4.2.1.9); without CA the value is empty. */
export const basicConstraints = (isCa: boolean, pathLength: number | null): Buffer => {
  const parts = isCa ? [derTrue, ...(pathLength === null ? [] : [integer(pathLength)])] : []
  return extension(extensionOids.basicConstraints, sequence(...parts), true)
}

/** Subject alternative name (4.2.1.6); critical when the subject is empty. */
export const subjectAlternativeName = (names: readonly SubjectAlternativeName[], critical: boolean): Buffer =>
  extension(extensionOids.subjectAlternativeName, encodeGeneralNames(names), critical)

const uriName = (url: string) => implicit(6, Buffer.from(url, 'latin1'))

/** DER DistributionPointName of a list that is had from each of these URLs (4.2.1.13). */
export const distributionPointName = (...urls: readonly string[]): Buffer => context(0, ...urls.map(uriName))

/** DER CRLDistributionPoints, one a URL. */
const distributionPoints = (urls: readonly string[]): Buffer =>
  sequence(...urls.map(url => sequence(context(0, distributionPointName(url)))))

/** CRL distribution points, one a URL (4.2.1.13). */
export const crlDistributionPoints = (urls: readonly string[]): Buffer =>
  extension(extensionOids.crlDistributionPoints, distributionPoints(urls))

/** Freshest CRL, where delta CRLs are had, one a URL, in certificates (4.2.1.15) and complete CRLs (5.2.6). */
export const freshestCrl = (urls: readonly string[]): Buffer =>
  extension(extensionOids.freshestCrl, distributionPoints(urls))

/** Authority information access (4.2.2.1). */
export const authorityInformationAccess = (ocsp: readonly string[], caIssuers: readonly string[]): Buffer =>
  extension(
    extensionOids.authorityInformationAccess,
    sequence(
      ...ocsp.map(url => sequence(oid(accessMethods.ocsp), uriName(url))),
      ...caIssuers.map(url => sequence(oid(accessMethods.caIssuers), uriName(url))),
    ),
  )

/** Certificate policies without qualifiers (4.2.1.4). */
export const certificatePolicies = (policyOids: readonly string[]): Buffer =>
  extension(extensionOids.certificatePolicies, sequence(...policyOids.map(policy => sequence(oid(policy)))))

/** No-check of an OCSP signer (RFC 6960 4.2.2.2.1). */
export const ocspNoCheck = (): Buffer => extension(extensionOids.ocspNoCheck, derNull)
