// How users are written: a run at the identity provider and in the records, while the caller waits (contract 1.5).
import { createHash } from 'node:crypto'
import type { Workflow, WorkflowResultType } from '@temporalio/common'
import { Failure } from '../../../domain/failure.ts'
import type { Start } from '../../../workflows/starts.ts'
import type { FailedMail } from '../../../workflows/users.ts'
import type { Surroundings } from '../../kernel/operation.ts'
import { PENDING } from '../../kernel/temporal.ts'

/** A run begins to record within 25 s or not at all, and then has 15 s. */
const waitSeconds = 45

/** Runs a change to its end; without one in time nothing has changed. */
export const carriedOut = async <W extends Workflow>(
  { temporal }: Pick<Surroundings, 'temporal'>,
  start: Start<W>,
): Promise<WorkflowResultType<W>> => {
  const result = await temporal.runAlone(start, waitSeconds)
  if (result !== PENDING) return result as WorkflowResultType<W>
  throw new Failure(
    'IDENTITY_PROVIDER_ERROR',
    'The identity provider gave no answer in time. What it may have begun is undone: read the user before you try again.',
  )
}

/** The id of a list of users: the same list has the same one. */
export const listIdOf = (userIds: readonly string[]): string =>
  createHash('sha256')
    .update([...userIds].sort().join())
    .digest('hex')
    .slice(0, 32)

/** Throws unless every mail was sent; the message names all who got none, the members at fault say why (contract 12). */
export const mustBeSent = (failed: readonly FailedMail[] | typeof PENDING): void => {
  if (failed === PENDING)
    throw new Failure(
      'IDENTITY_PROVIDER_ERROR',
      'Not all mails are sent yet; the others are sent without another call.',
    )
  if (failed.length === 0) return
  const fields = failed.map(({ userId, reason }) => ({ field: userId, message: reason }))
  const ids = failed.map(({ userId }) => userId).join(', ')
  throw new Failure('IDENTITY_PROVIDER_ERROR', `${failed.length} of the mails were not sent: ${ids}.`, fields)
}
