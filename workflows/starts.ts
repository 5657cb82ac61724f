// How the runs of requests are started: one shape for the API, which starts them, and the reconciler, which repairs.
import type { RequestState } from '../domain/lifecycle.ts'
import type { WaitingRequest } from './cert-request.ts'
import { certRequestWorkflowId } from './ids.ts'
import { searchAttributes } from './messages.ts'

/** What the run of a waiting request is started with. */
export interface WaitingRow {
  readonly id: string
  readonly realmId: string
  readonly policyId: string
  readonly state: RequestState
}

/** The start of the run that waits for the decision on a request. */
export const waitingRun = ({ id, realmId, policyId, state }: WaitingRow, waitDays: number) => ({
  id: certRequestWorkflowId(id),
  args: [{ certRequestId: id, state, waitDays }] satisfies [WaitingRequest] as [WaitingRequest],
  summary: `decide on request ${id}`,
  options: {
    typedSearchAttributes: [
      { key: searchAttributes.realmId, value: realmId },
      { key: searchAttributes.policyId, value: policyId },
      { key: searchAttributes.state, value: state.status },
      { key: searchAttributes.kind, value: 'CERT_REQUEST' },
    ],
  },
})
