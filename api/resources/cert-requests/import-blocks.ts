// The blocks of a certificate import: certificates from elsewhere as PEM text, read one by one (contract 1.2, 10.4).
import { canonicalNames } from '../../../domain/import-rules.ts'
import { Failure } from '../../../domain/failure.ts'
import type { SubjectData } from '../../../domain/end-entity-rules.ts'
import { namesIssuer } from '../../../pki/certificate/chain.ts'
import { parseCertificate, type CertificateDescription } from '../../../pki/certificate/certificate.ts'
import { certificateSubjectOf } from '../../../pki/names/subject-data.ts'
import { decodePem, mayHold, type PemBlock } from '../../../pki/pem.ts'
import { isStorable } from '../../../storage/certificate-row.ts'
import { isStorableText } from '../../../storage/storable-text.ts'
import { mapYielding } from '../../kernel/yielding.ts'

/** A certificate of the input with what it says about its owner. */
export interface ForeignCertificate {
  /** Self-signed is also what names itself as its issuer with a signature that cannot be checked here. */
  readonly certificate: CertificateDescription
  readonly names: SubjectData
}

/** One block of the input; null where it holds no readable certificate. */
export type Block = ForeignCertificate | null

const textsOf = ({ organization, organizationalUnit, country, email }: SubjectData): string[] =>
  [organization, organizationalUnit, country, email].filter(text => typeof text === 'string')

const describe = (der: Buffer): Block => {
  const found = parseCertificate(der)
  const certificate = { ...found, selfSigned: found.selfSigned || namesIssuer(found, found) }
  const names = canonicalNames(certificateSubjectOf(certificate))
  return isStorable(certificate) && textsOf(names).every(isStorableText) ? { certificate, names } : null
}

/** What is no certificate may be a private key: nothing of it is kept or said. */
const readBlock = (block: PemBlock): Block => {
  if (!mayHold('CERTIFICATE', block)) return null
  try {
    return describe(block.der)
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

/** Reads the blocks of PEM text in their order; INVALID_CERTIFICATE when none of them is readable. */
export const readBlocks = async (pemCertificates: string): Promise<Block[]> => {
  const blocks = await mapYielding(decodePem(pemCertificates), readBlock)
  if (blocks.every(block => block === null)) throw new Failure('INVALID_CERTIFICATE')
  return blocks
}

/** The distinct certificates of the input by fingerprint, in the order in which they come first. */
export const distinctOf = (blocks: readonly Block[]): ReadonlyMap<string, ForeignCertificate> => {
  const distinct = new Map<string, ForeignCertificate>()
  for (const block of blocks)
    if (block && !distinct.has(block.certificate.fingerprint)) distinct.set(block.certificate.fingerprint, block)
  return distinct
}
