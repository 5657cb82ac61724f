// The states of requests and certificates and what moves them (contract 4).
import type {
  CertRequestAction,
  CertRequestStatus,
  CertStatus,
  RevocationReason,
  SecurityIdentityType,
} from './enums.ts'
import { Failure } from './failure.ts'

/** One answer of an approver. */
export interface UserResponse {
  readonly userId: string
  readonly userType: SecurityIdentityType
  readonly action: CertRequestAction
  /** ISO 8601, UTC. */
  readonly responseDate: string
  /** The message that brought it and what it led to, for the case that the message is worked on again; never shown. */
  readonly decision?: { readonly id: string; readonly status: CertRequestStatus; readonly orderId: string | null }
}

/** What the life cycle of a request depends on. */
export interface RequestState {
  readonly status: CertRequestStatus
  readonly archived: boolean
  readonly creatorId: string | null
  readonly requiresManualApproval: boolean
  readonly dualControl: boolean
  readonly requesterMayApprove: boolean
  readonly approverIds: readonly string[]
}

/** The state that a new request begins in. */
export const initialStatus = (policy: {
  requiresEmailVerification: boolean
  requiresManualApproval: boolean
}): CertRequestStatus => {
  if (policy.requiresEmailVerification) return 'REQUIRES_EMAIL_VERIFICATION'
  return policy.requiresManualApproval ? 'PENDING_APPROVAL' : 'APPROVED'
}

/** How many principals have to approve. */
export const requiredApprovals = (request: { requiresManualApproval: boolean; dualControl: boolean }): 0 | 1 | 2 => {
  if (request.dualControl) return 2
  return request.requiresManualApproval ? 1 : 0
}

const mustBeLive = ({ archived }: RequestState): void => {
  if (archived) throw new Failure('ENTITY_ARCHIVED', 'The certificate request is archived.')
}

const mustWaitForAddress = (state: RequestState, done: string): void => {
  mustBeLive(state)
  if (state.status !== 'REQUIRES_EMAIL_VERIFICATION')
    throw new Failure('INVALID_STATE', `A request in state ${state.status} cannot be ${done}.`)
}

/** The state after this principal approves, or the refusal of contract 4.1. */
export const approved = (state: RequestState, principalId: string): CertRequestStatus => {
  mustBeLive(state)
  if (state.status !== 'PENDING_APPROVAL')
    throw new Failure('INVALID_STATE', `A request in state ${state.status} cannot be approved.`)
  const self = state.creatorId === principalId
  if (self && (state.dualControl || !state.requesterMayApprove)) throw new Failure('SELF_APPROVAL_NOT_ALLOWED')
  if (!state.dualControl) return 'APPROVED'
  if (state.approverIds.includes(principalId)) throw new Failure('ALREADY_APPROVED_BY_PRINCIPAL')
  return state.approverIds.length === 0 ? 'PENDING_APPROVAL' : 'APPROVED'
}

/** The state after somebody declines, or the refusal of contract 4.1. */
export const declined = (state: RequestState): CertRequestStatus => {
  mustBeLive(state)
  if (state.status !== 'PENDING_APPROVAL' && state.status !== 'REQUIRES_EMAIL_VERIFICATION')
    throw new Failure('INVALID_STATE', `A request in state ${state.status} cannot be declined.`)
  return 'DECLINED'
}

/** The state after the decision of this principal. */
export const decided = (state: RequestState, action: CertRequestAction, principalId: string): CertRequestStatus =>
  action === 'APPROVE' ? approved(state, principalId) : declined(state)

/** The state after the address of the end entity is verified, or the refusal of contract 4.1. */
export const verified = (state: RequestState): CertRequestStatus => {
  mustWaitForAddress(state, 'verified')
  return state.requiresManualApproval ? 'PENDING_APPROVAL' : 'APPROVED'
}

/** The state after a new verification mail, which is the same, or the refusal of contract 4.1. */
export const resent = (state: RequestState): CertRequestStatus => {
  mustWaitForAddress(state, 'sent another verification mail')
  return state.status
}

/** Whether a request in this state still waits for a person. */
export const isWaiting = (status: CertRequestStatus): boolean =>
  status === 'PENDING_APPROVAL' || status === 'REQUIRES_EMAIL_VERIFICATION'

interface Validity {
  validNotAfter: Date
  revocationReason?: RevocationReason | null | undefined
  revocationDate?: Date | null | undefined
}

/** The state of a certificate at a moment (contract 4.3): EXPIRED is computed, REVOKED is recorded. */
export const certStatusAt = ({ validNotAfter, revocationDate }: Validity, at: Date): CertStatus => {
  if (revocationDate) return 'REVOKED'
  return validNotAfter.getTime() < at.getTime() ? 'EXPIRED' : 'ACTIVE'
}

/** What the life cycle of a certificate depends on. */
export interface CertificateState extends Validity {
  readonly archived: boolean
}

/** Refuses the archiving of what is active (contract 4.4); a request is asked for its certificate, null while it has none. */
export const mustBeArchivable = (certificate: CertificateState | null, at: Date): void => {
  if (certificate && certStatusAt(certificate, at) === 'ACTIVE') throw new Failure('ACTIVE_CERTIFICATES_EXIST')
}
