// What the answers of all imports tell of a block: what it says, and why it was refused (contract 6.3, 6.4).
import type { Failure } from '../../../domain/failure.ts'
import type { Block } from './import-blocks.ts'

/** The verdict on a block: of those that are refused the failure is told. */
type Verdict = { readonly kind: string } | { readonly kind: 'REFUSED'; readonly failure: Failure }

/** A block with its verdict. */
interface Judged {
  readonly verdict: Verdict
}

/** The failure of a verdict that refuses. */
export const refusalIn = ({ verdict }: Judged): Failure | null => ('failure' in verdict ? verdict.failure : null)

/** BatchItemError of each block that was refused. */
export const errorsOf = (judged: readonly Judged[]) =>
  judged.flatMap((one, index) => {
    const refusal = refusalIn(one)
    return refusal ? [{ id: null, index, apiError: refusal.code, errorMessage: refusal.message }] : []
  })

/** The members of ParsedCertificateDto that the certificate itself tells. */
export const parsedOf = (block: Block) => {
  const certificate = block?.certificate
  return {
    subjectDn: certificate?.subjectDn.toWellFormed() ?? null,
    issuerDn: certificate?.issuerDn.toWellFormed() ?? null,
    serialNumber: certificate?.serialNumber ?? null,
    fingerprint: certificate?.fingerprint ?? null,
    validNotBefore: certificate?.validNotBefore ?? null,
    validNotAfter: certificate?.validNotAfter ?? null,
  }
}
