// Whether a request may be issued or ordered right now (contract 4.2): one table for each of the two ways.
import type { CertRequestStatus } from './enums.ts'
import { Failure } from './failure.ts'

/** A request as the tables look at it. */
export interface IssueState {
  readonly certRequestStatus: CertRequestStatus
  readonly archived: boolean
  /** Whether an asynchronous order of it is running. */
  readonly ordered: boolean
  /** Whether a synchronous issue of it is running. */
  readonly issuing: boolean
  /** Whether its certificate is there and no synchronous call has delivered it. */
  readonly undelivered: boolean
}

/** What a synchronous call does: issue and wait, wait for the run in progress, or deliver what is there. */
export type IssueStep = 'ISSUE' | 'JOIN' | 'DELIVER'

const refuse = (...failure: ConstructorParameters<typeof Failure>): never => {
  throw new Failure(...failure)
}

/** The step of createCertificate, or its refusal. */
export const issueStep = ({ certRequestStatus: status, ...state }: IssueState): IssueStep => {
  if (state.archived) refuse('ENTITY_ARCHIVED', 'The certificate request is archived.')
  if (status === 'ISSUED') return state.undelivered ? 'DELIVER' : refuse('ALREADY_ISSUED')
  if (status !== 'APPROVED') refuse('INVALID_STATE', `A request in state ${status} cannot be issued.`)
  if (state.ordered) refuse('ALREADY_ORDERED')
  return state.issuing ? 'JOIN' : 'ISSUE'
}

/** Refuses what orderCertificate does not take. */
export const mustBeOrderable = ({ certRequestStatus: status, ...state }: IssueState): void => {
  if (state.archived) refuse('ENTITY_ARCHIVED', 'The certificate request is archived.')
  if (status === 'ISSUED') refuse('ALREADY_ISSUED')
  if (status === 'DECLINED') refuse('INVALID_STATE', 'A declined request cannot be ordered.')
  if (state.ordered || state.issuing) refuse('ALREADY_ORDERED')
}
