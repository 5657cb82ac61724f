import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { Failure, type ApiError } from '../../domain/failure.ts'
import {
  approved,
  certStatusAt,
  decided,
  declined,
  initialStatus,
  isWaiting,
  type RequestState,
} from '../../domain/lifecycle.ts'
import { CertRequestStatus, valuesOf } from '../../domain/enums.ts'

const state = (members: Partial<RequestState> = {}): RequestState => ({
  status: 'PENDING_APPROVAL',
  archived: false,
  creatorId: 'creator',
  requiresManualApproval: true,
  dualControl: false,
  requesterMayApprove: true,
  approverIds: [],
  ...members,
})

const outcome = (run: () => CertRequestStatus): CertRequestStatus | ApiError => {
  try {
    return run()
  } catch (error) {
    if (error instanceof Failure) return error.code
    throw error
  }
}

test.each<[boolean, boolean, CertRequestStatus]>([
  [false, false, 'APPROVED'],
  [false, true, 'PENDING_APPROVAL'],
  [true, false, 'REQUIRES_EMAIL_VERIFICATION'],
  [true, true, 'REQUIRES_EMAIL_VERIFICATION'],
])('verification %s and approval %s begin in %s', (requiresEmailVerification, requiresManualApproval, status) =>
  expect(initialStatus({ requiresEmailVerification, requiresManualApproval })).toBe(status),
)

const dual = { dualControl: true }
test.each<[string, Partial<RequestState>, string, CertRequestStatus | ApiError]>([
  ['by another', {}, 'a', 'APPROVED'],
  ['by its creator', {}, 'creator', 'APPROVED'],
  ['by its creator who may not', { requesterMayApprove: false }, 'creator', 'SELF_APPROVAL_NOT_ALLOWED'],
  ['by its creator under dual control', dual, 'creator', 'SELF_APPROVAL_NOT_ALLOWED'],
  ['by the first of two', dual, 'a', 'PENDING_APPROVAL'],
  ['by the second of two', { ...dual, approverIds: ['a'] }, 'b', 'APPROVED'],
  ['twice by the same', { ...dual, approverIds: ['a'] }, 'a', 'ALREADY_APPROVED_BY_PRINCIPAL'],
  ['when archived', { archived: true }, 'a', 'ENTITY_ARCHIVED'],
  ['before its address is verified', { status: 'REQUIRES_EMAIL_VERIFICATION' }, 'a', 'INVALID_STATE'],
  ['when approved', { status: 'APPROVED' }, 'a', 'INVALID_STATE'],
  ['when declined', { status: 'DECLINED' }, 'a', 'INVALID_STATE'],
  ['when issued', { status: 'ISSUED' }, 'a', 'INVALID_STATE'],
])('a request approved %s', (...[, members, principal, expected]) =>
  expect(outcome(() => approved(state(members), principal))).toBe(expected),
)

test.each(valuesOf(CertRequestStatus))('a request in state %s can be declined only while it waits', status =>
  expect(outcome(() => declined(state({ status })))).toBe(isWaiting(status) ? 'DECLINED' : 'INVALID_STATE'),
)

test('an archived request cannot be declined', () =>
  expect(outcome(() => declined(state({ archived: true })))).toBe('ENTITY_ARCHIVED'))

interface Step {
  readonly action: 'APPROVE' | 'DECLINE'
  readonly by: string
}

const walk = (start: RequestState, steps: readonly Step[]): RequestState =>
  steps.reduce((at, { action, by }) => {
    const next = outcome(() => decided(at, action, by))
    if (!(next in CertRequestStatus)) return at
    const approverIds = action === 'APPROVE' ? [...at.approverIds, by] : at.approverIds
    return { ...at, status: next as CertRequestStatus, approverIds }
  }, start)

const principals = fc.constantFrom('creator', 'a', 'b', 'c')
const steps = fc.array(fc.record({ action: fc.constantFrom('APPROVE' as const, 'DECLINE' as const), by: principals }))
const starts = fc.record({ dualControl: fc.boolean(), requesterMayApprove: fc.boolean() })

test('no walk approves without enough principals, and nothing leaves an end', () => {
  fc.assert(
    fc.property(starts, steps, steps, (flags, first, second) => {
      const middle = walk(state(flags), first)
      const end = walk(middle, second)
      const approvers = new Set(end.approverIds)
      if (end.status === 'APPROVED') expect(approvers.size).toBeGreaterThanOrEqual(flags.dualControl ? 2 : 1)
      if (flags.dualControl || !flags.requesterMayApprove) expect(approvers.has('creator')).toBe(false)
      if (!isWaiting(middle.status)) expect(end.status).toBe(middle.status)
      expect(['PENDING_APPROVAL', 'APPROVED', 'DECLINED']).toContain(end.status)
    }),
  )
})

const at = new Date('2031-01-31T10:00:00Z')
const later = new Date(at.getTime() + 1)

test('a certificate is active up to the very end of its validity', () => {
  expect(certStatusAt({ validNotAfter: at }, at)).toBe('ACTIVE')
  expect(certStatusAt({ validNotAfter: at }, later)).toBe('EXPIRED')
})

test('a revoked certificate stays revoked when its validity ends', () =>
  expect(certStatusAt({ validNotAfter: at, revocationDate: at }, later)).toBe('REVOKED'))
