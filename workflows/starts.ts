// How each workflow is started, said once: the API starts runs with it, and the reconciler those that a crash left behind.
import type { SearchAttributePair, Workflow, WorkflowResultType } from '@temporalio/common'
import type { RequestState } from '../domain/lifecycle.ts'
import type { certRequest } from './cert-request.ts'
import { certRequestWorkflowId, providerWorkflowId } from './ids.ts'
import type { issueCertificates } from './issue-certificates.ts'
import { searchAttributes } from './messages.ts'
import type { orderCertificates } from './order-certificates.ts'
import type { checkProvider, prepareProvider } from './provider.ts'
import type { reconcile } from './reconcile.ts'

/** The start of one run. */
export interface Start<W extends Workflow = Workflow> {
  /** The name of the workflow. */
  readonly workflow: string
  /** The workflow id, a business id of `ids.ts`. */
  readonly id: string
  readonly args: Parameters<W>
  /** A line for operators, without names of people. */
  readonly summary: string
  readonly attributes: SearchAttributePair[]
  /** Never there: carries the type of the result. */
  readonly result?: WorkflowResultType<W>
}

/** What operators find a run by. */
interface RunFacts {
  readonly kind: 'CERT_REQUEST' | 'ISSUE' | 'ORDER' | 'PROVIDER' | 'RECONCILE'
  readonly realmId?: string | undefined
  readonly policyId?: string | undefined
  readonly state?: string | undefined
}

const attributesOf = ({ kind, realmId, policyId, state }: RunFacts): SearchAttributePair[] => [
  ...(realmId === undefined ? [] : [{ key: searchAttributes.realmId, value: realmId }]),
  ...(policyId === undefined ? [] : [{ key: searchAttributes.policyId, value: policyId }]),
  ...(state === undefined ? [] : [{ key: searchAttributes.state, value: state }]),
  { key: searchAttributes.kind, value: kind },
]

/** A certificate request as runs of it are found. */
export interface LocatedRequest {
  readonly id: string
  readonly realmId: string
  readonly policyId: string
}

/** The run that waits so many days for the decision on a request. */
export const certRequestRun = (
  { id, realmId, policyId, state }: LocatedRequest & { readonly state: RequestState },
  waitDays: number,
): Start<typeof certRequest> => ({
  workflow: 'certRequest',
  id: certRequestWorkflowId(id),
  args: [{ certRequestId: id, state, waitDays }],
  summary: `decide on request ${id}`,
  attributes: attributesOf({ kind: 'CERT_REQUEST', realmId, policyId, state: state.status }),
})

const summaryOf = (verb: string, { count, first }: { count: number; first: LocatedRequest | undefined }): string =>
  count === 1 ? `${verb} request ${first?.id}` : `${verb} ${count} requests`

/** The run that issues these requests now; operators find it by the realm and policy of the first. */
export const issueRun = (runId: string, requests: readonly LocatedRequest[]): Start<typeof issueCertificates> => {
  const [first] = requests
  return {
    workflow: 'issueCertificates',
    id: runId,
    args: [requests.map(({ id }) => id)],
    summary: summaryOf('issue', { count: requests.length, first }),
    attributes: attributesOf({ kind: 'ISSUE', realmId: first?.realmId, policyId: first?.policyId }),
  }
}

/** An order of so many requests; operators find it by the realm and policy of the first. */
export interface PlacedOrder {
  readonly id: string
  readonly count: number
  readonly first: LocatedRequest | undefined
}

/** The run that carries out an order. */
export const orderRun = ({ id, ...order }: PlacedOrder): Start<typeof orderCertificates> => ({
  workflow: 'orderCertificates',
  id,
  args: [id],
  summary: summaryOf('order', order),
  attributes: attributesOf({ kind: 'ORDER', realmId: order.first?.realmId, policyId: order.first?.policyId }),
})

/** The run that makes what a certificate provider needs before it can issue. */
export const prepareProviderRun = (providerId: string): Start<typeof prepareProvider> => ({
  workflow: 'prepareProvider',
  id: providerWorkflowId('prepare', providerId),
  args: [providerId],
  summary: `prepare provider ${providerId}`,
  attributes: attributesOf({ kind: 'PROVIDER' }),
})

/** The run that tries the connection of a certificate provider. */
export const checkProviderRun = (providerId: string): Start<typeof checkProvider> => ({
  workflow: 'checkProvider',
  id: providerWorkflowId('check', providerId),
  args: [providerId],
  summary: `check the connection of provider ${providerId}`,
  attributes: attributesOf({ kind: 'PROVIDER' }),
})

/** The run of the schedule that starts what a crash left behind. */
export const reconcileRun: Start<typeof reconcile> = {
  workflow: 'reconcile',
  id: 'reconcile',
  args: [],
  summary: 'start what a crash left behind',
  attributes: attributesOf({ kind: 'RECONCILE' }),
}

/** A start as the client of Temporal takes it. */
export const startOptions = ({ id, args, summary, attributes }: Start, taskQueue: string) => ({
  workflowId: id,
  taskQueue,
  args,
  staticSummary: summary,
  typedSearchAttributes: attributes,
})
