// The run of a request as version 0.1 had it, word for word but for the paths: upgrade.test.ts begins runs with it.
import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  currentUpdateInfo,
  getExternalWorkflowHandle,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow'
import type { CertRequestAction, CertRequestStatus } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import { decided, isWaiting, type RequestState } from '../../../domain/lifecycle.ts'
import type { Principal } from '../../../domain/principal.ts'
import { records } from '../../../workflows/activities.ts'
import { certRequestWorkflowId } from '../../../workflows/ids.ts'
import {
  approve,
  decline,
  requestsChanged,
  searchAttributes,
  type Decided,
  type Verdict,
} from '../../../workflows/messages.ts'
import { mustBeRun } from '../../../workflows/own-run.ts'

/** The request and the facts that its decision depends on, as they were when the run began. */
export interface WaitingRequest {
  readonly certRequestId: string
  readonly state: RequestState
  /** How long this run waits; the request itself stays decidable, a later decision starts a new run. */
  readonly waitDays: number
}

const refusal = (error: unknown): ApplicationFailure => {
  if (error instanceof Failure) return ApplicationFailure.nonRetryable(error.message, error.code)
  return ApplicationFailure.nonRetryable(String(error), 'INTERNAL_ERROR')
}

/** Refuses a message that does not say that it is this decision on this request. */
const mustMean = (told: Partial<Verdict> | undefined, certRequestId: string, action: CertRequestAction): void => {
  if (told?.certRequestId === undefined)
    throw refusal(
      new Failure('INVALID_STATE', 'The decision does not name its request: update the API, then ask again.'),
    )
  if (told.certRequestId !== certRequestId || told.action !== action)
    throw refusal(new Failure('ACCESS_DENIED', 'The message is a decision on something else.'))
}

const judge = (state: RequestState, action: CertRequestAction, principal: Principal): CertRequestStatus => {
  try {
    return decided(state, action, principal.id ?? '')
  } catch (error) {
    throw refusal(error)
  }
}

const describe = ({ status, approverIds }: RequestState): string =>
  isWaiting(status) ? `Waits: ${status}, ${approverIds.length} approval(s) so far` : `Decided: ${status}`

const tellOrder = async (orderId: string, certRequestId: string): Promise<void> => {
  try {
    await getExternalWorkflowHandle(orderId).signal(requestsChanged, [certRequestId])
  } catch {
    // The order has ended, or the reconciler has yet to start it: it reads the records when it runs.
  }
}

/** Records the decision of the message that is being worked on, and tells the order that waits for it. */
const recorded = async (certRequestId: string, action: CertRequestAction, by: Principal): Promise<Decided> => {
  const principal = { id: by.id, type: by.type, name: by.name }
  const decisionId = currentUpdateInfo()?.id
  const outcome = await records.recordDecision({ certRequestId, action, principal, decisionId })
  if (outcome.orderId) await tellOrder(outcome.orderId, certRequestId)
  return outcome
}

/** Waits until the request is decided; each decision is recorded before its caller hears the verdict. */
export async function certRequest({
  certRequestId,
  state: begin,
  waitDays,
}: WaitingRequest): Promise<CertRequestStatus> {
  mustBeRun(certRequestWorkflowId(certRequestId))
  let state = begin
  const decide =
    (action: CertRequestAction) =>
    async (told: Verdict): Promise<Decided> => {
      const before = state
      const approverIds = action === 'APPROVE' ? [...state.approverIds, told.id ?? ''] : state.approverIds
      state = { ...state, status: judge(state, action, told), approverIds }
      try {
        return await recorded(certRequestId, action, told)
      } catch (error) {
        state = before
        throw error
      }
    }
  const judged = (action: CertRequestAction) => ({
    validator: (told: Verdict) => {
      mustMean(told, certRequestId, action)
      judge(state, action, told)
    },
  })
  setHandler(approve, decide('APPROVE'), judged('APPROVE'))
  setHandler(decline, decide('DECLINE'), judged('DECLINE'))

  setCurrentDetails(describe(state))
  // A decision counts once it is recorded: one that the records refuse leaves the request open.
  await condition(() => !isWaiting(state.status) && allHandlersFinished(), `${waitDays} days`)
  await condition(allHandlersFinished)
  setCurrentDetails(describe(state))
  upsertSearchAttributes([{ key: searchAttributes.state, value: state.status }])
  return state.status
}
