// What the judges find in documents that are as they ought to be, each with its reason. A finding that is not listed fails,
// and so does one that is listed and does not appear.
import type { Made } from './matrix.ts'

/** A finding that is right as far as the judge goes, and no flaw. */
interface Expected {
  readonly finding: string
  /** In exactly these. */
  readonly in: (made: Made) => boolean
  readonly reason: string
}

/** All of them. */
export const expectedFindings: readonly Expected[] = [
  {
    finding: 'pkilint INFO pkix.subject_key_identifier_rfc7093_method_1_identified',
    in: ({ kind }) => kind === 'certificate',
    reason: 'Says how the identifier is made, which is meant: RFC 7093 2, method 1, without SHA-1.',
  },
  {
    finding: 'pkilint ERROR pkix.invalid_domain_name_syntax',
    in: ({ wildcard }) => wildcard,
    reason: 'RFC 5280 4.2.1.6 leaves the meaning of wildcards open, and RFC 9525 6.3 gives it: one as the first label.',
  },
  {
    finding: 'pkilint NOTICE pkix.public_key_algorithm_unsupported',
    in: ({ kind, key }) => kind === 'certificate' && key.spec.cryptoAlgorithm === 'ML_DSA',
    reason: 'pkilint does not know ML-DSA (RFC 9881) yet and says so.',
  },
  {
    finding: 'zlint error e_key_usage_and_extended_key_usage_inconsistent',
    in: ({ template, key }) => template?.name === 'DEVICE' && key.spec.cryptoAlgorithm === 'RSA',
    reason:
      'Contract 10.2: SCEP encrypts to the keys of devices (RFC 8894 3.3), thus keyEncipherment beside clientAuth. The lint ' +
      'knows of no purpose of ipsecIKE, and of no protocol that enrols; digitalSignature serves both purposes.',
  },
]

/** The findings that are expected in a document, in their order. */
export const expectedIn = (made: Made): string[] =>
  expectedFindings
    .filter(({ in: isIn }) => isIn(made))
    .map(({ finding }) => finding)
    .toSorted()
