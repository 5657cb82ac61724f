// Recording what approvers decide. The message is not believed: who the principal is and what it may is asked of the
// records again, in the transaction that records the decision.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequestAction, CertRequestStatus } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { decided, type UserResponse } from '../domain/lifecycle.ts'
import type { EventMailKind } from '../domain/mails.ts'
import type { Principal } from '../domain/principal.ts'
import type { Decided } from '../workflows/messages.ts'
import { record } from '../storage/audit.ts'
import { queueEventMails } from '../storage/mails.ts'
import { judgeRight } from '../storage/authorization.ts'
import { loadGrants } from '../storage/grant.ts'
import { lockRow } from '../storage/lock.ts'
import { cancelItem } from '../storage/order-items.ts'
import { actingPrincipal, type KnownPrincipal } from '../storage/principal.ts'
import { CertRequest } from '../storage/rows/cert-request.ts'
import { actAs, actor } from '../storage/rows/stamp.ts'
import { askedBy, judge, openCases } from '../authority/request-case.ts'
import type { QueuedMails } from './mail/starting.ts'
import type { Services } from './services.ts'

/** One decision of one principal. */
export interface Decision {
  readonly certRequestId: string
  readonly action: CertRequestAction
  readonly principal: Principal
  /** The id of the message; runs of versions before 0.2 do not tell it. */
  readonly decisionId?: string | undefined
}

const isSame = ({ userId, action, decision }: UserResponse, wanted: Decision): boolean =>
  userId === wanted.principal.id &&
  action === wanted.action &&
  (wanted.decisionId === undefined || wanted.decisionId === decision?.id)

/** What this very decision led to, when it is recorded already: the answer to it was lost. */
const recordedOutcome = (request: CertRequest, wanted: Decision): Decided | undefined => {
  const known = request.userResponses.find(response => isSame(response, wanted))
  if (!known) return undefined
  const { status, orderId } = known.decision ?? { status: request.certRequestStatus, orderId: request.orderId }
  return { status, orderId }
}

/** The principal as the records know it, when it may decide so on this request (contract 7.4). */
const allowedPrincipal = async (
  em: EntityManager,
  request: CertRequest,
  { action, principal: { id } }: Decision,
): Promise<KnownPrincipal> => {
  const known = await actingPrincipal(em, id)
  const places = [request.place]
  const [verdict] = await judgeRight(em, await loadGrants(em, known.id, places), { right: action, places })
  if (!verdict?.allowed) throw new Failure('ACCESS_DENIED')
  return known
}

const sentence: Record<CertRequestAction, string> = { APPROVE: 'approved', DECLINE: 'declined' }

/** Throws the first refusal of contract 5.4 before an approval. */
const checkApproval = async (em: EntityManager, { clock }: Services, request: CertRequest): Promise<void> => {
  if (request.archived) throw new Failure('ENTITY_ARCHIVED', 'The certificate request is archived.')
  const cases = await openCases(em, await askedBy(em, [request]), { now: clock(), mail: null })
  cases.forEach(judge)
}

const mailKinds: Partial<Record<CertRequestStatus, EventMailKind>> = {
  APPROVED: 'REQUESTS_APPROVED',
  DECLINED: 'REQUESTS_DECLINED',
}

/** Queues the mails about a decision after which the request waits no more. */
const queueMails = async (em: EntityManager, request: CertRequest, now: Date): Promise<QueuedMails> => {
  const { id, realmId, policyName, certRequestStatus, label } = request
  const kind = mailKinds[certRequestStatus]
  if (!kind) return { groupId: null, realmId }
  const event = { kind, realmId, items: [{ id, subject: label, policyName }], by: actor(em).name }
  return { groupId: await queueEventMails(em, event, { now }), realmId }
}

/** What a decision led to, and the mails about it when it was not recorded before. */
interface Recorded {
  readonly outcome: Decided
  readonly mails: readonly QueuedMails[]
}

const decide = async (em: EntityManager, services: Services, wanted: Decision): Promise<Recorded> => {
  const { certRequestId, action, decisionId } = wanted
  const request = await lockRow(em, CertRequest, certRequestId)
  const recorded = recordedOutcome(request, wanted)
  if (recorded) return { outcome: recorded, mails: [] }
  const { id: userId, type: userType, name } = await allowedPrincipal(em, request, wanted)
  actAs(em, { id: userId, type: userType, name })
  const status = decided(request.state, action, userId)
  if (action === 'APPROVE') await checkApproval(em, services, request)
  const outcome = { status, orderId: request.orderId }
  const response = { userId, userType, action, responseDate: services.clock().toISOString() }
  request.certRequestStatus = status
  request.userResponses = [
    ...request.userResponses,
    { ...response, ...(decisionId !== undefined && { decision: { id: decisionId, ...outcome } }) },
  ]
  record(em, {
    type: action === 'APPROVE' ? 'CERT_REQUEST_APPROVED' : 'CERT_REQUEST_DECLINED',
    objectId: request.id,
    realmId: request.realmId,
    what: `Certificate request of ${request.label} ${sentence[action]}`,
  })
  if (status === 'DECLINED') await cancelItem(em, request)
  return { outcome, mails: [await queueMails(em, request, services.clock())] }
}

export const decisionActivities = (services: Services) => ({
  /** Idempotency key: the message (`decisionId`); without one request, principal and action. */
  recordDecision: async (decision: Decision): Promise<Decided> => {
    const { outcome, mails } = await services.orm.em.fork().transactional(em => decide(em, services, decision))
    services.mailStarts.add(mails)
    return outcome
  },
})
