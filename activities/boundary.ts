// Where activities meet Temporal: an expected refusal becomes a failure that is not retried; an outside
// system that cannot is tried again, and so is every unexpected error.
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import { apiErrors, Failure } from '../domain/failure.ts'

type Activity = (input: never) => Promise<unknown>

/** What an outside system could not do now, it may do later: tried again. */
const isOutside = ({ code }: Failure): boolean => apiErrors[code].status === 502

const translated = (error: unknown): unknown => {
  if (!(error instanceof Failure)) return error
  return ApplicationFailure.create({
    message: error.message,
    type: error.code,
    nonRetryable: !isOutside(error),
    category: ApplicationFailureCategory.BENIGN,
  })
}

const guarded =
  (activity: Activity): Activity =>
  async input => {
    try {
      return await activity(input)
    } catch (error) {
      throw translated(error)
    }
  }

/** Puts every activity behind the translation. */
export const withBoundary = <T extends Record<string, Activity>>(activities: T): T =>
  Object.fromEntries(Object.entries(activities).map(([name, activity]) => [name, guarded(activity)])) as T
