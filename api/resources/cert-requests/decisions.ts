// Certificate requests approved and declined (contract 4.1): the decision is told to the run that waits for it.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequestAction } from '../../../domain/enums.ts'
import { Failure } from '../../../domain/failure.ts'
import { decided } from '../../../domain/lifecycle.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import type { Settings } from '../../../storage/settings.ts'
import { approve, decline, type Verdict } from '../../../workflows/messages.ts'
import { certRequestRun } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { operation } from '../../kernel/operation.ts'
import { PENDING, type Temporal } from '../../kernel/temporal.ts'
import { ApproveCertReqResponseDto, DeclineCertReqResponseDto } from './dtos.ts'
import { ruleBreaches } from './refusals.ts'
import { awaitCertificate } from './waiting.ts'

interface Decision {
  readonly target: CertRequest
  readonly caller: Caller
  readonly em: EntityManager
  readonly temporal: Temporal
  readonly settings: Settings
}

const updates = { APPROVE: approve, DECLINE: decline } as const

/** Tells the run of the request, starting it where none is left, and reads the row that it wrote. */
const decide = async (action: CertRequestAction, { target, caller, em, temporal, settings }: Decision) => {
  decided(target.state, action, caller.id)
  const { id, type, name } = caller
  const start = certRequestRun(target, await settings.integer('order.max-wait-days'))
  const told: Verdict = { id, type, name, certRequestId: target.id, action }
  const outcome = await temporal.updateWithStart(updates[action], { args: [told], start })
  if (outcome === PENDING)
    throw new Failure('SERVICE_UNAVAILABLE', 'The decision was sent, but no worker has recorded it yet.')
  await em.refresh(target)
  return { target, orderId: outcome.orderId }
}

export const approveCertRequest = operation('PATCH /cert-requests/:id/approve', {
  summary: 'Approve a certificate request',
  on: CertRequest,
  needs: 'APPROVE',
  repeatable: false,
  returns: [200, ApproveCertReqResponseDto],
  fails: [409, 422],
  refuses: [...ruleBreaches, 'INVALID_STATE', 'SELF_APPROVAL_NOT_ALLOWED', 'ALREADY_APPROVED_BY_PRINCIPAL'],
  handle: async context => {
    const { target, orderId } = await decide('APPROVE', context)
    if (orderId && target.certRequestStatus === 'APPROVED') await awaitCertificate(context.em, target)
    return target
  },
})

export const declineCertRequest = operation('PATCH /cert-requests/:id/decline', {
  summary: 'Decline a certificate request',
  on: CertRequest,
  needs: 'DECLINE',
  repeatable: false,
  returns: [200, DeclineCertReqResponseDto],
  fails: [409, 422],
  refuses: ['INVALID_STATE', 'ENTITY_ARCHIVED'],
  handle: async context => (await decide('DECLINE', context)).target,
})
