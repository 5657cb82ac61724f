// Revocation, hold and release (contract 4.3): the table as data, one function over it. Pure; dates are arguments.
import type { AuditEventType } from './audit.ts'
import type { RevocationReason } from './enums.ts'
import { Failure, type ApiError } from './failure.ts'

/** What the table looks at. */
export interface RevocationState {
  readonly archived: boolean
  readonly validNotBefore: Date
  readonly validNotAfter: Date
  readonly revocationReason?: RevocationReason | null | undefined
  readonly revocationDate?: Date | null | undefined
}

/** What becomes of a certificate; reason and date are null after a release. */
export interface Revoked {
  readonly reason: RevocationReason | null
  readonly date: Date | null
  readonly event: Extract<
    AuditEventType,
    'CERTIFICATE_HELD' | 'CERTIFICATE_RELEASED' | 'CERTIFICATE_REVOKED' | 'CERTIFICATE_MARKED_AS_REVOKED'
  >
}

/** The CRLReason of each reason (RFC 5280 5.3.1). */
export const reasonCodes: Readonly<Record<RevocationReason, number>> = {
  UNSPECIFIED: 0,
  KEY_COMPROMISE: 1,
  CA_COMPROMISE: 2,
  AFFILIATION_CHANGED: 3,
  SUPERSEDED: 4,
  CESSATION_OF_OPERATION: 5,
  CERTIFICATE_HOLD: 6,
  REMOVE_FROM_CRL: 8,
  PRIVILEGE_WITHDRAWN: 9,
  AA_COMPROMISE: 10,
}

const wishes = ['HOLD', 'RELEASE', 'REVOKE'] as const
type Wish = (typeof wishes)[number]
type State = 'ACTIVE' | 'EXPIRED' | 'HELD' | 'REVOKED'

const done = { HOLD: 'CERTIFICATE_HELD', RELEASE: 'CERTIFICATE_RELEASED', REVOKE: 'CERTIFICATE_REVOKED' } as const

/** The refusals; a pair without one is allowed. */
const refusals: Readonly<Record<State, Partial<Readonly<Record<Wish, ApiError>>>>> = {
  ACTIVE: { RELEASE: 'INVALID_REVOCATION_REASON' },
  HELD: { HOLD: 'ALREADY_REVOKED' },
  REVOKED: { HOLD: 'ALREADY_REVOKED', RELEASE: 'ALREADY_REVOKED', REVOKE: 'ALREADY_REVOKED' },
  EXPIRED: { HOLD: 'INVALID_STATE', RELEASE: 'INVALID_STATE', REVOKE: 'INVALID_STATE' },
}

const sentences: Partial<Readonly<Record<ApiError, string>>> = {
  INVALID_REVOCATION_REASON: 'The certificate is not on hold, so that there is nothing to release.',
  INVALID_STATE: 'The certificate has expired.',
}

const stateOf = ({ validNotAfter, revocationReason, revocationDate }: RevocationState, now: Date): State => {
  if (revocationDate) return revocationReason === 'CERTIFICATE_HOLD' ? 'HELD' : 'REVOKED'
  return validNotAfter.getTime() < now.getTime() ? 'EXPIRED' : 'ACTIVE'
}

const wishOf = (reason: RevocationReason): Wish => {
  if (reason === 'CERTIFICATE_HOLD') return 'HOLD'
  return reason === 'REMOVE_FROM_CRL' ? 'RELEASE' : 'REVOKE'
}

/** What a revocation for this reason makes of a certificate now, or the refusal of contract 4.3. */
export const revoked = (state: RevocationState, reason: RevocationReason, now: Date): Revoked => {
  if (state.archived) throw new Failure('ENTITY_ARCHIVED', 'The certificate is archived.')
  const wish = wishOf(reason)
  const refusal = refusals[stateOf(state, now)][wish]
  if (refusal) throw new Failure(refusal, sentences[refusal])
  const event = done[wish]
  // The date of a hold stays when it becomes final.
  return wish === 'RELEASE' ? { reason: null, date: null, event } : { reason, date: state.revocationDate ?? now, event }
}

const mustBeWithin = (date: Date, { validNotBefore }: RevocationState, now: Date): void => {
  if (date.getTime() >= validNotBefore.getTime() && date.getTime() <= now.getTime()) return
  const message = 'must lie between the begin of validity and now'
  throw new Failure('VALIDATION_FAILED', `revocationDate ${message}.`, [{ field: 'revocationDate', message }])
}

/** A revocation that was made elsewhere. */
export interface MadeElsewhere {
  readonly reason: RevocationReason
  /** Null: now. */
  readonly date: Date | null
}

/** The same for a revocation that was made elsewhere, which is neither a hold nor a release. */
export const markedAsRevoked = (state: RevocationState, { reason, date }: MadeElsewhere, now: Date): Revoked => {
  if (wishOf(reason) !== 'REVOKE')
    throw new Failure(
      'INVALID_REVOCATION_REASON',
      'A hold and its release are no revocations that were made elsewhere.',
    )
  const change = revoked(state, reason, now)
  if (date) mustBeWithin(date, state, now)
  const kept = state.revocationDate ?? date ?? now
  return { ...change, date: kept, event: 'CERTIFICATE_MARKED_AS_REVOKED' }
}
