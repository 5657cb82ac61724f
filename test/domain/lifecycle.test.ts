// The states of certificate requests and certificates (contract 4.1, 4.3).
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { Failure, type ApiError } from '../../domain/failure.ts'
import { issueStep, mustBeOrderable } from '../../domain/issue-rules.ts'
import {
  approved,
  certStatusAt,
  decided,
  declined,
  initialStatus,
  isWaiting,
  mustBeArchivable,
  requiredApprovals,
  resent,
  verified,
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

test.each(valuesOf(CertRequestStatus))('the address of a request in state %s', status => {
  const waits = status === 'REQUIRES_EMAIL_VERIFICATION'
  const after = (members: Partial<RequestState>) => outcome(() => verified(state({ status, ...members })))
  expect(after({ requiresManualApproval: true })).toBe(waits ? 'PENDING_APPROVAL' : 'INVALID_STATE')
  expect(after({ requiresManualApproval: false })).toBe(waits ? 'APPROVED' : 'INVALID_STATE')
  expect(after({ archived: true })).toBe('ENTITY_ARCHIVED')
  expect(outcome(() => resent(state({ status })))).toBe(waits ? status : 'INVALID_STATE')
  expect(outcome(() => resent(state({ status, archived: true })))).toBe('ENTITY_ARCHIVED')
})

test('an archived request cannot be declined', () =>
  expect(outcome(() => declined(state({ archived: true })))).toBe('ENTITY_ARCHIVED'))

test.each<[boolean, boolean, number]>([
  [false, false, 0],
  [true, false, 1],
  [true, true, 2],
])('manual approval %s under dual control %s takes %i approvals', (requiresManualApproval, dualControl, approvals) =>
  expect(requiredApprovals({ requiresManualApproval, dualControl })).toBe(approvals),
)

/** What happens to a request: who does it, and whether issuing ends with a certificate. */
interface Step {
  readonly event: Event
  readonly by: string
  readonly succeeds: boolean
}
type Change = Partial<Pick<RequestState, 'status' | 'archived' | 'approverIds'>>

const issueState = ({ status, archived }: RequestState) => ({
  certRequestStatus: status,
  archived,
  ordered: false,
  issuing: false,
  undelivered: false,
})
const issued: CertRequestStatus = 'ISSUED'

/** The events of contract 4.1 as `domain` decides them; a refusal is thrown. */
const events = {
  APPROVE: (at: RequestState, { by }: Step) => ({
    status: decided(at, 'APPROVE', by),
    approverIds: [...at.approverIds, by],
  }),
  DECLINE: (at: RequestState, { by }: Step) => ({ status: decided(at, 'DECLINE', by) }),
  ISSUE: (at: RequestState, { succeeds }: Step) => {
    expect(issueStep(issueState(at))).toBe('ISSUE')
    return succeeds ? { status: issued } : {}
  },
  ORDER: (at: RequestState, { succeeds }: Step) => {
    mustBeOrderable(issueState(at))
    return succeeds && at.status === 'APPROVED' ? { status: issued } : {}
  },
  VERIFY: (at: RequestState) => ({ status: verified(at) }),
  RESEND: (at: RequestState) => ({ status: resent(at) }),
  ARCHIVE: () => ({ archived: true }),
  UNARCHIVE: () => ({ archived: false }),
} as const satisfies Record<string, (at: RequestState, step: Step) => Change>
type Event = keyof typeof events

type Outcome = CertRequestStatus | ApiError
const twice = ['ALREADY_APPROVED_BY_PRINCIPAL', 'SELF_APPROVAL_NOT_ALLOWED'] as const

/** The table of contract 4.1 and 4.2, written down once more: what each event may come to; absent: INVALID_STATE. */
const table: Readonly<Record<CertRequestStatus, Partial<Record<Event, readonly Outcome[]>>>> = {
  REQUIRES_EMAIL_VERIFICATION: {
    VERIFY: ['PENDING_APPROVAL', 'APPROVED'],
    RESEND: ['REQUIRES_EMAIL_VERIFICATION'],
    DECLINE: ['DECLINED'],
    ORDER: ['REQUIRES_EMAIL_VERIFICATION'],
  },
  PENDING_APPROVAL: {
    APPROVE: ['PENDING_APPROVAL', 'APPROVED', ...twice],
    DECLINE: ['DECLINED'],
    ORDER: ['PENDING_APPROVAL'],
  },
  APPROVED: { ISSUE: ['APPROVED', 'ISSUED'], ORDER: ['APPROVED', 'ISSUED'] },
  DECLINED: {},
  ISSUED: { ISSUE: ['ALREADY_ISSUED'], ORDER: ['ALREADY_ISSUED'] },
}

const expected = ({ status, archived }: RequestState, event: Event): readonly Outcome[] => {
  if (event === 'ARCHIVE' || event === 'UNARCHIVE') return [status]
  return archived ? ['ENTITY_ARCHIVED'] : (table[status][event] ?? ['INVALID_STATE'])
}

/** What was visited: each event on each state, archived or not, with what came of it. */
const visited = new Set<string>()
const visitOf = (at: Pick<RequestState, 'status' | 'archived'>, event: Event, came: Outcome): string =>
  `${at.status}${at.archived ? ', archived' : ''}: ${event} -> ${came}`

/** Every row of the table, its refusals included. */
const everyVisit = (): string[] =>
  valuesOf(CertRequestStatus).flatMap(status =>
    [false, true].flatMap(archived =>
      (Object.keys(events) as Event[]).flatMap(event =>
        expected(state({ status, archived }), event).map(came => visitOf({ status, archived }, event, came)),
      ),
    ),
  )

/** One step, held against the table: a refusal changes nothing. */
const stepOn = (at: RequestState, step: Step): RequestState => {
  let next = at
  const came = outcome(() => {
    next = { ...at, ...events[step.event](at, step) }
    return next.status
  })
  expect(expected(at, step.event)).toContain(came)
  visited.add(visitOf(at, step.event, came))
  return next
}

const flags = fc.record({
  requiresEmailVerification: fc.boolean(),
  requiresManualApproval: fc.boolean(),
  dualControl: fc.boolean(),
  requesterMayApprove: fc.boolean(),
  /** An import brings its request along, which is over. */
  imported: fc.constantFrom(false, false, false, false, true),
})
type Flags = typeof flags extends fc.Arbitrary<infer F> ? F : never
const steps = fc.array(
  fc.record({
    event: fc.constantFrom(...(Object.keys(events) as Event[])),
    by: fc.constantFrom('creator', 'a', 'b', 'c'),
    succeeds: fc.boolean(),
  }),
  { maxLength: 30 },
)

/** A walk from the creation, all states that it comes through. */
const walk = ({ requiresEmailVerification, imported, ...rest }: Flags, taken: readonly Step[]): RequestState[] => {
  const manual = rest.requiresManualApproval
  const first = state({
    ...rest,
    dualControl: manual && rest.dualControl,
    status: imported ? 'ISSUED' : initialStatus({ requiresEmailVerification, requiresManualApproval: manual }),
  })
  const states = [first]
  for (const step of taken) states.push(stepOn(states.at(-1) ?? first, step))
  return states
}

const runs = { numRuns: 2000 }

test('no walk leaves the table of the contract, and together they come through all of it', () => {
  visited.clear()
  const begun = new Set<string>()
  fc.assert(
    fc.property(flags, steps, (given, taken) => void begun.add(walk(given, taken)[0]?.status ?? '')),
    runs,
  )
  expect([...begun].toSorted()).toEqual(['APPROVED', 'ISSUED', 'PENDING_APPROVAL', 'REQUIRES_EMAIL_VERIFICATION'])
  expect([...visited].toSorted()).toEqual(everyVisit().toSorted())
})

test('no walk approves without enough principals, none of them its creator where that is forbidden', () => {
  let approvals = 0
  fc.assert(
    fc.property(flags, steps, (given, taken) => {
      for (const at of walk({ ...given, imported: false, requiresManualApproval: true }, taken)) {
        const approvers = new Set(at.approverIds)
        if (at.dualControl || !at.requesterMayApprove) expect(approvers.has('creator')).toBe(false)
        if (at.status !== 'APPROVED' && at.status !== 'ISSUED') continue
        expect(approvers.size).toBeGreaterThanOrEqual(requiredApprovals(at))
        approvals += 1
      }
    }),
    runs,
  )
  expect(approvals).toBeGreaterThan(0)
})

const mayFollow: Readonly<Record<CertRequestStatus, readonly CertRequestStatus[]>> = {
  REQUIRES_EMAIL_VERIFICATION: ['PENDING_APPROVAL', 'APPROVED', 'DECLINED'],
  PENDING_APPROVAL: ['APPROVED', 'DECLINED'],
  APPROVED: ['ISSUED'],
  DECLINED: [],
  ISSUED: [],
}

test('nothing leaves an end, and nothing moves while it is archived', () => {
  fc.assert(
    fc.property(flags, steps, (given, taken) => {
      const states = walk(given, taken)
      for (const [index, at] of states.slice(1).entries()) {
        const before = states[index]
        if (!before || before.status === at.status) continue
        expect(before.archived).toBe(false)
        expect(mayFollow[before.status]).toContain(at.status)
      }
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

test.each<[string, object | null, boolean]>([
  ['without a certificate', null, true],
  ['with an active one', { validNotAfter: at }, false],
  ['with an expired one', { validNotAfter: new Date(at.getTime() - 1) }, true],
  ['with a revoked one', { validNotAfter: later, revocationDate: at }, true],
  ['with one on hold', { validNotAfter: later, revocationDate: at, revocationReason: 'CERTIFICATE_HOLD' }, true],
])('a request %s: %#', (...[, certificate, may]) => {
  const archive = () => mustBeArchivable(certificate && { archived: false, validNotAfter: at, ...certificate }, at)
  if (may) archive()
  else expect(archive).toThrow(new Failure('ACTIVE_CERTIFICATES_EXIST'))
})
