// Recording what approvers decide.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequestAction } from '../domain/enums.ts'
import { Failure } from '../domain/failure.ts'
import { decided } from '../domain/lifecycle.ts'
import type { Principal } from '../domain/principal.ts'
import type { Decided } from '../workflows/messages.ts'
import { record } from '../storage/audit.ts'
import { CertRequest } from '../storage/rows/cert-request.ts'
import { lockRow } from '../storage/lock.ts'
import { cancelItem } from '../storage/order-items.ts'
import { actAs } from '../storage/rows/stamp.ts'
import { askedBy, judge, openCases } from '../authority/request-case.ts'
import type { Services } from './services.ts'

/** One decision of one principal. */
export interface Decision {
  readonly certRequestId: string
  readonly action: CertRequestAction
  readonly principal: Principal
}

const isRecorded = ({ userResponses }: CertRequest, { action, principal }: Decision): boolean =>
  userResponses.some(response => response.userId === principal.id && response.action === action)

const sentence: Record<CertRequestAction, string> = { APPROVE: 'approved', DECLINE: 'declined' }

/** Throws the first refusal of contract 5.4 before an approval. */
const checkApproval = async (em: EntityManager, { clock }: Services, request: CertRequest): Promise<void> => {
  if (request.archived) throw new Failure('ENTITY_ARCHIVED', 'The certificate request is archived.')
  const cases = await openCases(em, await askedBy(em, [request]), { now: clock(), mail: null })
  cases.forEach(judge)
}

const decide = async (em: EntityManager, services: Services, decision: Decision): Promise<Decided> => {
  const { certRequestId, action, principal } = decision
  const request = await lockRow(em, CertRequest, certRequestId)
  const answer = () => ({ status: request.certRequestStatus, orderId: request.orderId })
  if (isRecorded(request, decision)) return answer()
  const status = decided(request.state, action, principal.id ?? '')
  if (action === 'APPROVE') await checkApproval(em, services, request)
  const response = {
    userId: principal.id ?? '',
    userType: principal.type,
    action,
    responseDate: services.clock().toISOString(),
  }
  request.certRequestStatus = status
  request.userResponses = [...request.userResponses, response]
  record(em, {
    type: action === 'APPROVE' ? 'CERT_REQUEST_APPROVED' : 'CERT_REQUEST_DECLINED',
    objectId: request.id,
    realmId: request.realmId,
    what: `Certificate request of ${request.label} ${sentence[action]}`,
  })
  const answered = answer()
  if (status === 'DECLINED') await cancelItem(em, request)
  return answered
}

export const decisionActivities = (services: Services) => ({
  /** Idempotency key: request, principal and action. */
  recordDecision: (decision: Decision): Promise<Decided> =>
    actAs(services.orm.em.fork(), decision.principal).transactional(em => decide(em, services, decision)),
})
