// The revocation list of a certificate that was issued elsewhere, fetched while somebody waits. The list itself goes to the
// records: it is far too long for the payload of a run.
import { probes } from './activities.ts'
import { crlFetchWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'

/** From where the list was fetched, or why there is none, which the caller may read. */
export type FetchedList =
  | { readonly url: string; readonly problem: null }
  | { readonly url: null; readonly problem: string }

/** Fetches the list of a certificate; who asks meanwhile gets the same one. */
export async function fetchCrl(certificateId: string): Promise<FetchedList> {
  mustBeRun(crlFetchWorkflowId(certificateId))
  return probes.fetchCrl({ certificateId })
}
