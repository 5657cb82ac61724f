// Which errors are worth another attempt. Three kinds: what cannot change ends at once; what may be a race, else an error of
// ours, ends after some attempts; what an installation lacks for a while (database, outside system, key) is tried for ever.
import { Context } from '@temporalio/activity'
import { apiErrors, Failure } from '../domain/failure.ts'
import { LintError } from '../pki/certificate/certificate.ts'
import { isConflict, isHopeless } from '../storage/faults.ts'

/** With the pauses of workflows/activities.ts these take about two minutes. */
const attemptsOfDoubt = 10

const outside: readonly number[] = [502, 503]

/** What an outside system or a part of ours could not do now, it may do later. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Failure && !outside.includes(apiErrors[error.code].status)

const ourErrors = [TypeError, RangeError, ReferenceError, SyntaxError]

const isDoubtful = (error: unknown): boolean => isConflict(error) || ourErrors.some(kind => error instanceof kind)

/** Whether this attempt of the present activity is the last that makes sense after this error. */
export const isFinal = (error: unknown): boolean => {
  if (isRefusal(error) || error instanceof LintError || isHopeless(error)) return true
  return isDoubtful(error) && Context.current().info.attempt >= attemptsOfDoubt
}
