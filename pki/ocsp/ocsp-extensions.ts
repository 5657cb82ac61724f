// The extensions of OCSP messages (RFC 6960 4.4; the nonce: RFC 9654).
import { octetString } from '../asn1/der.ts'
import { DerError, type DerValue, readDer, readOctetString, readSequence } from '../asn1/der-reader.ts'
import { extension } from '../certificate/extensions.ts'
import { type Extension, readExtension } from '../certificate/tbs-certificate.ts'

/** Object identifiers of RFC 6960. */
export const ocspOids = {
  basic: '1.3.6.1.5.5.7.48.1.1',
  nonce: '1.3.6.1.5.5.7.48.1.2',
  acceptableResponses: '1.3.6.1.5.5.7.48.1.4',
} as const

const longestNonce = 128

/** The extensions in an EXPLICIT tag, no type twice; none without the tag. Throws a DerError. */
export const readOcspExtensions = (wrapped: DerValue | undefined): Extension[] => {
  if (!wrapped) return []
  const [list, ...rest] = wrapped.children
  const extensions = readSequence(list).map(readExtension)
  const types = new Set(extensions.map(({ oid }) => oid))
  if (rest.length > 0 || types.size < extensions.length) throw new DerError('The extensions are malformed')
  return extensions
}

/** Throws a DerError for a critical extension that is none of the known ones. */
export const mustKnowCritical = (extensions: readonly Extension[], known: readonly string[]): void => {
  if (extensions.some(({ oid, critical }) => critical && !known.includes(oid)))
    throw new DerError('An extension is critical and not known')
}

/** The nonce, or null without one; throws a DerError when it has none or more than 128 octets (RFC 9654 2.1). */
export const readNonce = (extensions: readonly Extension[]): Buffer | null => {
  const found = extensions.find(({ oid }) => oid === ocspOids.nonce)
  if (!found) return null
  const nonce = readOctetString(readDer(found.value))
  if (nonce.length === 0 || nonce.length > longestNonce) throw new DerError('The nonce has not 1 to 128 octets')
  return nonce
}

/** DER Extension with the nonce. */
export const nonceExtension = (nonce: Buffer): Buffer => extension(ocspOids.nonce, octetString(nonce))
