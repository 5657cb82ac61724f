// The state that operators find a run by (docs/operations.md). It is told only where it lasts, never on the way of an issue.
import { upsertSearchAttributes } from '@temporalio/workflow'
import type { OrderStatus } from '../domain/enums.ts'
import { searchAttributes } from './messages.ts'

/** An order waits; mails are tried again or were given up; certificates are revoked but in no CRL, or in one. */
type RunState = OrderStatus | 'WAITING' | 'RETRYING' | 'SENT' | 'FAILED' | 'UNLISTED' | 'LISTED'

/** Lets the run be found by this state. */
export const tellState = (value: RunState): void => upsertSearchAttributes([{ key: searchAttributes.state, value }])
