// Where activities meet Temporal: an expected refusal becomes a failure that is not retried, the rest stays an error.
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import { Failure } from '../domain/failure.ts'

type Activity = (input: never) => Promise<unknown>

const translated = (error: unknown): unknown => {
  if (!(error instanceof Failure)) return error
  return ApplicationFailure.create({
    message: error.message,
    type: error.code,
    nonRetryable: true,
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
