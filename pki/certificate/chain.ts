// Certificate chains: who issued whom (RFC 5280 6.1), and the order leaf, issuing CA, root.
import { Failure } from '../../domain/failure.ts'
import type { CertificateDescription } from './certificate.ts'
import { DerError } from '../asn1/der-reader.ts'
import { isSignedBy, readSigned } from './signed.ts'

// The longest chain that is followed; loops of cross-certificates end here too.
const maxLength = 16

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

/** The issuers of a certificate among the candidates, those that name it by key identifier first. */
export const findIssuers = (
  certificate: CertificateDescription,
  candidates: readonly CertificateDescription[],
): CertificateDescription[] => {
  const isExact = ({ ski }: CertificateDescription) => Boolean(ski && certificate.aki?.equals(ski))
  const issuers = candidates.filter(candidate => isIssuedBy(certificate, candidate))
  return [...issuers.filter(isExact), ...issuers.filter(issuer => !isExact(issuer))]
}

const findPath = (
  path: readonly CertificateDescription[],
  candidates: readonly CertificateDescription[],
): CertificateDescription[] | null => {
  const last = path.at(-1)
  if (!last || path.length > maxLength) return null
  if (last.selfSigned) return [...path]
  const others = candidates.filter(({ fingerprint }) => path.every(link => link.fingerprint !== fingerprint))
  for (const issuer of findIssuers(last, others)) {
    const found = findPath([...path, issuer], others)
    if (found) return found
  }
  return null
}

/** The chain from a certificate up to a self-signed one among the candidates; Failure CHAIN_INCOMPLETE. */
export const buildChain = (
  leaf: CertificateDescription,
  candidates: readonly CertificateDescription[],
): CertificateDescription[] => {
  const chain = findPath([leaf], candidates)
  if (!chain) throw new Failure('CHAIN_INCOMPLETE')
  return chain
}

/** Orders a set in any order: leaf first, root last. CHAIN_INCOMPLETE without exactly one leaf, or with a gap. */
export const orderChain = (certificates: readonly CertificateDescription[]): CertificateDescription[] => {
  const issues = (issuer: CertificateDescription) =>
    certificates.some(other => other.fingerprint !== issuer.fingerprint && namesIssuer(other, issuer))
  const byFingerprint = new Map(certificates.map(certificate => [certificate.fingerprint, certificate]))
  const leaves = [...byFingerprint.values()].filter(certificate => !issues(certificate))
  const [leaf] = leaves
  if (!leaf || leaves.length > 1) throw new Failure('CHAIN_INCOMPLETE', 'The certificates do not form one chain')
  return buildChain(leaf, [...byFingerprint.values()])
}
