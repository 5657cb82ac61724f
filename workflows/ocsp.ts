// The status of a certificate asked of its OCSP responder, while somebody waits.
import type { OcspStatus, RevocationReason } from '../domain/enums.ts'
import { probes } from './activities.ts'
import { ocspWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'

/** What a responder answered and what was verified; dates as ISO 8601 text. */
export interface OcspAnswerFacts {
  readonly status: OcspStatus
  readonly revocationReason: RevocationReason | null
  readonly revocationDate: string | null
  readonly producedAt: string
  readonly thisUpdate: string
  readonly nextUpdate: string | null
  readonly responderUrl: string
}

/** What came of it: an answer, or why there is none, which the caller may read. */
export type OcspCheck =
  | { readonly answer: OcspAnswerFacts; readonly problem: null }
  | { readonly answer: null; readonly problem: string }

/** Asks the responders of a certificate for its status; who asks meanwhile gets the same answer. */
export async function checkOcspStatus(certificateId: string): Promise<OcspCheck> {
  mustBeRun(ocspWorkflowId(certificateId))
  return probes.askOcspResponder({ certificateId })
}
