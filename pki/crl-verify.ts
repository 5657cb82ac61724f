// Whether the revocation list of another CA may be believed (RFC 5280 6.3.3), so that it is handed out and kept.
import { DerError, readDer } from './asn1/der-reader.ts'
import type { CertificateDescription } from './certificate/certificate.ts'
import { isSignedBy, weaknessOf } from './certificate/signed.ts'
import { type ReadCrl, readCrl } from './crl-reader.ts'
import { comparableName } from './path/comparable-name.ts'
import { Failure } from '../domain/failure.ts'

/** The list cannot be believed; the text is a sentence without a word of the list. */
export class CrlError extends Error {
  override readonly name = 'CrlError'
}

/** Clocks may differ so much. */
const skewMs = 300_000

const refuse = (message: string): never => {
  throw new CrlError(message)
}

const read = (der: Buffer): ReadCrl => {
  try {
    return readCrl(der)
  } catch (error) {
    if (error instanceof Failure) return refuse('It is no revocation list')
    throw error
  }
}

const nameOf = ({ subjectNameDer }: CertificateDescription): string | null => {
  try {
    return comparableName(readDer(subjectNameDer))
  } catch (error) {
    if (error instanceof DerError) return null
    throw error
  }
}

const mustBeComplete = ({ baseNumber, point, isUnknown }: ReadCrl): void => {
  if (baseNumber !== null) refuse('It is a delta list')
  if (point.isIndirect) refuse('It is a list of several issuers')
  if (point.onlyAttributeCerts) refuse('It is a list of attribute certificates')
  if (isUnknown) refuse('It has a critical extension that is unknown')
}

const mustBeOfThePresent = ({ thisUpdate, nextUpdate }: ReadCrl, now: Date): void => {
  if (thisUpdate.getTime() > now.getTime() + skewMs) refuse('It is of the future')
  if (nextUpdate && nextUpdate.getTime() < now.getTime() - skewMs) refuse('It is out of date')
}

const mustBeSigned = ({ signed, issuer: name }: ReadCrl, issuer: CertificateDescription): void => {
  if (name !== nameOf(issuer)) refuse('It is of another issuer')
  if (issuer.keyUsages.length > 0 && !issuer.keyUsages.includes('cRLSign')) refuse('Its issuer may not sign lists')
  if (!isSignedBy(signed, issuer.publicKeySpki)) refuse('Its signature is wrong')
  const weakness = weaknessOf(signed, issuer.publicKeySpki)
  if (weakness) refuse(`It is signed by ${weakness}`)
}

/**
 * A complete list (DER) that a CA has issued about its own certificates, that is signed by the CA's key, and of the present;
 * else a CrlError that tells what it is not. Clocks may differ by 5 minutes.
 */
export const verifyCrl = (
  der: Buffer,
  { issuer, now }: { readonly issuer: CertificateDescription; readonly now: Date },
): ReadCrl => {
  const crl = read(der)
  mustBeComplete(crl)
  mustBeSigned(crl, issuer)
  mustBeOfThePresent(crl, now)
  return crl
}
