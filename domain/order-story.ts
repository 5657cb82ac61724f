// What the run of a small order tells operators: the way of each request from the order to its certificate, in Markdown.
import type { CertRequestAction, CertRequestStatus, OrderStatus, SecurityIdentityType } from './enums.ts'
import type { ApiError } from './failure.ts'
import { isWaiting, requiredApprovals } from './lifecycle.ts'

/** Somebody, by kind and id: names of people are not in runs. */
interface Somebody {
  readonly type: SecurityIdentityType
  readonly id: string | null
}

/** One request of an order as the records have it; dates are ISO 8601, UTC. */
export interface OrderedRequest {
  readonly certRequestId: string
  readonly requestedDate: string
  readonly requestedBy: Somebody
  readonly verifiedDate: string | null
  readonly requiresManualApproval: boolean
  readonly dualControl: boolean
  readonly decisions: readonly { readonly date: string; readonly by: Somebody; readonly action: CertRequestAction }[]
  readonly status: CertRequestStatus
  readonly item: OrderStatus
  readonly failure: ApiError | null
  readonly certificateId: string | null
  readonly issuedDate: string | null
}

/** An order of more requests tells their numbers alone. */
export const mostTold = 10

const nameOf = ({ type, id }: Somebody): string => (id === null ? type : `${type} ${id}`)

interface Step {
  readonly date: string
  readonly what: string
}

const done: Record<CertRequestAction, string> = { APPROVE: 'approved', DECLINE: 'declined' }

const stepsOf = (request: OrderedRequest): Step[] => {
  const { requestedDate, requestedBy, verifiedDate, decisions, certificateId, issuedDate } = request
  const steps = [{ date: requestedDate, what: `requested by ${nameOf(requestedBy)}` }]
  if (verifiedDate !== null) steps.push({ date: verifiedDate, what: 'e-mail address verified' })
  for (const { date, by, action } of decisions) steps.push({ date, what: `${done[action]} by ${nameOf(by)}` })
  if (certificateId !== null && issuedDate !== null)
    steps.push({ date: issuedDate, what: `issued: certificate ${certificateId}` })
  return steps.toSorted((one, other) => one.date.localeCompare(other.date))
}

const endings: Partial<Record<OrderStatus, string>> = {
  CANCELED: 'canceled',
  FAILED: 'failed',
  COMPLETED: 'completed',
}

const endOf = ({ item, failure }: OrderedRequest): string => {
  const word = endings[item] ?? 'in progress'
  return failure === null ? word : `${word}: ${failure}`
}

/** What is missing, or how it ended. */
const standingOf = (request: OrderedRequest): string => {
  const { status, item, decisions } = request
  if (item !== 'RUNNING' || !isWaiting(status)) return endOf(request)
  if (status === 'REQUIRES_EMAIL_VERIFICATION') return 'waits for the e-mail address to be verified'
  const given = decisions.filter(({ action }) => action === 'APPROVE').length
  return `waits for approval, ${given} of ${requiredApprovals(request)} given`
}

const told = (request: OrderedRequest): string => {
  const steps = stepsOf(request).map(({ date, what }) => `- ${date} ${what}`)
  return [`Certificate request ${request.certRequestId}: **${standingOf(request)}**`, '', ...steps].join('\n')
}

/** The story of an order's requests, in the order of their positions. */
export const storyOf = (requests: readonly OrderedRequest[]): string => requests.map(told).join('\n\n')
