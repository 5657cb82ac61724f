// Issuing now: one certificate is a list of one.
import { workflowInfo } from '@temporalio/workflow'
import type { ApiError } from '../domain/failure.ts'
import { signing } from './activities.ts'
import { chunksOf, fewAtOnce } from './chunks.ts'

/** What became of one request of a list. */
export interface ItemOutcome {
  readonly certRequestId: string
  readonly certificateId?: string
  readonly failure?: { readonly apiError: ApiError; readonly errorMessage: string }
}

/** Issues the certificate of each request, in the order of the list. */
export async function issueCertificates(certRequestIds: string[]): Promise<ItemOutcome[]> {
  const runId = workflowInfo().workflowId
  const outcomes = await fewAtOnce(chunksOf(certRequestIds), chunk =>
    signing.issueChunk({ runId, certRequestIds: chunk }),
  )
  return outcomes.flat()
}
