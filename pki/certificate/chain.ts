// Who issued whom, one link alone; whole paths are judged by path-validation.ts.
import type { CertificateDescription } from './certificate.ts'
import { DerError } from '../asn1/der-reader.ts'
import { isSignedBy, readSigned } from './signed.ts'

const identifiersFit = ({ aki }: CertificateDescription, { ski }: CertificateDescription) =>
  aki === null || ski === null || aki.equals(ski)

/** Whether names and, where both are there, key identifiers of the link fit; the signature is not checked. */
export const namesIssuer = (certificate: CertificateDescription, issuer: CertificateDescription): boolean =>
  certificate.issuerNameDer.equals(issuer.subjectNameDer) && identifiersFit(certificate, issuer)

const isSignatureRight = (certificate: CertificateDescription, issuer: CertificateDescription): boolean => {
  try {
    return isSignedBy(readSigned(certificate.der), issuer.publicKeySpki)
  } catch (error) {
    if (error instanceof DerError) return false
    throw error
  }
}

/** Whether one link holds: names, key identifiers and signature. CA rights and validity are the caller's question. */
export const isIssuedBy = (certificate: CertificateDescription, issuer: CertificateDescription): boolean =>
  namesIssuer(certificate, issuer) && isSignatureRight(certificate, issuer)
