// A certificate request waits for people: for the proof of an e-mail address, for approvers, or for both.
import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  currentUpdateInfo,
  getExternalWorkflowHandle,
  patched,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow'
import type { CertRequestAction, CertRequestStatus } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { decided, isWaiting, verified, type RequestState } from '../domain/lifecycle.ts'
import type { Principal } from '../domain/principal.ts'
import { records } from './activities.ts'
import { certRequestWorkflowId } from './ids.ts'
import {
  approve,
  decline,
  requestsChanged,
  searchAttributes,
  verifyEmail,
  type AddressProof,
  type Decided,
  type Verdict,
} from './messages.ts'
import { mustBeRun } from './own-run.ts'
import { describe, standingAt, type Standing, type Step } from './standing.ts'

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

/** Refuses a message that does not say which request it is about, or names another one. */
const mustName = (told: { certRequestId?: string } | undefined, certRequestId: string, isMeant = true): void => {
  if (told?.certRequestId === undefined)
    throw refusal(
      new Failure('INVALID_STATE', 'The decision does not name its request: update the API, then ask again.'),
    )
  if (told.certRequestId !== certRequestId || !isMeant)
    throw refusal(new Failure('ACCESS_DENIED', 'The message is a decision on something else.'))
}

const next = (rule: () => CertRequestStatus): CertRequestStatus => {
  try {
    return rule()
  } catch (error) {
    throw refusal(error)
  }
}

const judge = (state: RequestState, action: CertRequestAction, principal: Principal): CertRequestStatus =>
  next(() => decided(state, action, principal.id ?? ''))

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

/** Records the proof of the message that is being worked on, and tells the order that waits for it. */
const recordedProof = async ({ certRequestId, tokenHash }: AddressProof): Promise<Decided> => {
  const proofId = currentUpdateInfo()?.id ?? tokenHash
  const outcome = await records.recordVerification({ certRequestId, tokenHash, proofId })
  upsertSearchAttributes([{ key: searchAttributes.state, value: outcome.status }])
  const { orderId, status } = outcome
  // Until version 0.2 an order was told only of the last thing that it needed.
  if (orderId && (patched('orders are told of each proof') || !isWaiting(status)))
    await tellOrder(orderId, certRequestId)
  return outcome
}

const hearDecisions = (certRequestId: string, { now, enter }: Standing): void => {
  const decide = (action: CertRequestAction) => async (told: Verdict) => {
    const step: Step = state => ({
      ...state,
      status: judge(state, action, told),
      approverIds: [...state.approverIds, ...(action === 'APPROVE' ? [told.id ?? ''] : [])],
    })
    return enter(step, () => recorded(certRequestId, action, told))
  }
  const judged = (action: CertRequestAction) => ({
    validator: (told: Verdict) => {
      mustName(told, certRequestId, (told as Partial<Verdict> | undefined)?.action === action)
      judge(now(), action, told)
    },
  })
  setHandler(approve, decide('APPROVE'), judged('APPROVE'))
  setHandler(decline, decide('DECLINE'), judged('DECLINE'))
}

const hearProofs = (certRequestId: string, { now, enter }: Standing): void => {
  const proven: Step = state => ({ ...state, status: next(() => verified(state)) })
  const validator = (proof: AddressProof): void => {
    mustName(proof, certRequestId)
    proven(now())
  }
  // A step of its own each time: two of them are two messages.
  setHandler(
    verifyEmail,
    async proof =>
      enter(
        state => proven(state),
        () => recordedProof(proof),
      ),
    { validator },
  )
}

/** Waits until the request is decided; each message is recorded before its caller hears the verdict. */
export async function certRequest({ certRequestId, state, waitDays }: WaitingRequest): Promise<CertRequestStatus> {
  mustBeRun(certRequestWorkflowId(certRequestId))
  const standing = standingAt(state)
  hearDecisions(certRequestId, standing)
  hearProofs(certRequestId, standing)

  setCurrentDetails(describe(state))
  // A message counts once it is recorded: one that the records refuse leaves the request open.
  await condition(() => !isWaiting(standing.now().status) && allHandlersFinished(), `${waitDays} days`)
  await condition(allHandlersFinished)
  setCurrentDetails(describe(standing.now()))
  upsertSearchAttributes([{ key: searchAttributes.state, value: standing.now().status }])
  return standing.now().status
}
