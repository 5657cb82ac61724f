// Whether an OCSP answer may be believed (RFC 6960 3.2): signed for the CA of the certificate, about the certificate, in
// answer to this request, and of the present.
import { Failure } from '../../domain/failure.ts'
import { type CertificateDescription, parseCertificate } from '../certificate/certificate.ts'
import { isIssuedBy } from '../certificate/chain.ts'
import { isSignedBy, readSigned, weaknessOf } from '../certificate/signed.ts'
import { isOfIssuer, keyHash } from './cert-id.ts'
import { OcspError, readingOcsp } from './ocsp-error.ts'
import { type ReadAnswer, type ReadSingle, readOcspResponse } from './response-reader.ts'

/** What was asked. */
export interface AskedStatus {
  /** Lower-case hex as CertificateDescription has it. */
  readonly serialNumber: string
  readonly issuer: CertificateDescription
  /** What was sent, or null; many responders answer without (RFC 6960 4.4.1). */
  readonly nonce: Buffer | null
  readonly now: Date
}

/** The verified status of a certificate. */
export type OcspVerdict = Omit<ReadSingle, 'certId'> & Pick<ReadAnswer, 'producedAt'>

const minuteMs = 60_000

/** How far clocks may differ. */
const skewMs = 5 * minuteMs

/** How old an answer may be that does not say until when it holds: newer ones are there at any time (RFC 6960 4.2.2.1). */
const oldestMs = 24 * 60 * minuteMs

/** The most certificates of an answer that are looked at. */
const mostCertificates = 16

const isResponder = ({ responder }: ReadAnswer, { subjectNameDer, publicKeySpki }: CertificateDescription): boolean =>
  responder.octets.equals(responder.kind === 'name' ? subjectNameDer : keyHash(publicKeySpki, 'sha1'))

const findCertificate = (der: Buffer): CertificateDescription[] => {
  try {
    return [parseCertificate(der)]
  } catch (error) {
    if (error instanceof Failure) return []
    throw error
  }
}

/** RFC 6960 4.2.2.2: issued directly by the CA, so that nobody else could have, for this use alone named, and valid. */
const isDelegate = (certificate: CertificateDescription, { issuer, now }: AskedStatus): boolean =>
  certificate.extendedKeyUsages.includes('OCSPSigning') &&
  (certificate.keyUsages.length === 0 || certificate.keyUsages.some(usage => signing.includes(usage))) &&
  certificate.validNotBefore.getTime() <= now.getTime() + skewMs &&
  certificate.validNotAfter.getTime() >= now.getTime() &&
  isIssuedBy(certificate, issuer) &&
  weaknessOf(readSigned(certificate.der), issuer.publicKeySpki) === null

// RFC 5280 4.2.1.12: what is consistent with OCSPSigning.
const signing: readonly string[] = ['digitalSignature', 'nonRepudiation']

const signersOf = (answer: ReadAnswer, asked: AskedStatus): CertificateDescription[] => {
  const delegates = answer.certificates
    .slice(0, mostCertificates)
    .flatMap(findCertificate)
    .filter(certificate => isResponder(answer, certificate) && isDelegate(certificate, asked))
  return isResponder(answer, asked.issuer) ? [asked.issuer, ...delegates] : delegates
}

const mustBeStrong = ({ signed }: ReadAnswer, { publicKeySpki }: CertificateDescription): void => {
  const weakness = weaknessOf(signed, publicKeySpki)
  if (weakness) throw new OcspError('SIGNATURE', `The answer is signed by ${weakness}`)
}

const mustBeSigned = (answer: ReadAnswer, asked: AskedStatus): void => {
  const signers = signersOf(answer, asked)
  if (signers.length === 0) throw new OcspError('SIGNATURE', 'The signer of the answer may not answer for the CA')
  const signer = signers.find(({ publicKeySpki }) => isSignedBy(answer.signed, publicKeySpki))
  if (!signer) throw new OcspError('SIGNATURE', 'The signature of the answer is wrong')
  mustBeStrong(answer, signer)
}

const singleOf = ({ singles }: ReadAnswer, { issuer, serialNumber }: AskedStatus): ReadSingle => {
  const [single, ...more] = singles.filter(
    ({ certId }) => certId.serialNumber === serialNumber && isOfIssuer(certId, issuer),
  )
  if (!single) throw new OcspError('MISMATCH', 'The answer is about another certificate')
  if (more.length > 0) throw new OcspError('MISMATCH', 'The answer says more than one thing about the certificate')
  return single
}

const mustBeOfRequest = (answer: ReadAnswer, { nonce }: AskedStatus): void => {
  if (answer.nonce && !(nonce && answer.nonce.equals(nonce)))
    throw new OcspError('MISMATCH', 'The answer is to another request')
}

const mustBeOfThePresent = ({ producedAt, thisUpdate, nextUpdate }: OcspVerdict, now: Date): void => {
  if (Math.max(producedAt.getTime(), thisUpdate.getTime()) > now.getTime() + skewMs)
    throw new OcspError('TIME', 'The answer is of the future')
  const end = nextUpdate?.getTime() ?? thisUpdate.getTime() + oldestMs
  if (end < thisUpdate.getTime() || end < now.getTime() - skewMs)
    throw new OcspError('TIME', 'The answer is out of date')
}

/**
 * The status in a DER OCSPResponse of at most 64 KiB, once everything of RFC 6960 3.2 holds; else an OcspError that tells
 * what does not. Clocks may differ by 5 minutes; an answer without nextUpdate may be 24 hours old. A delegated signer's own
 * revocation is not asked for.
 */
export const verifyOcspResponse = (der: Buffer, asked: AskedStatus): OcspVerdict => {
  const answer = readOcspResponse(der)
  return readingOcsp(() => {
    mustBeSigned(answer, asked)
    mustBeOfRequest(answer, asked)
    const { certId: _, ...single } = singleOf(answer, asked)
    const verdict = { ...single, producedAt: answer.producedAt }
    mustBeOfThePresent(verdict, asked.now)
    return verdict
  })
}
