// Where activities meet Temporal: each works for the run that its input names and for no other, a refusal becomes a failure
// with its code, and what cannot change is not tried again.
import { Context } from '@temporalio/activity'
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import { Failure } from '../domain/failure.ts'
import { isFinal } from './patience.ts'

type Activity = (input: never) => Promise<unknown>

/** The id of the run that each activity works for, by its input; null where any run may ask. */
export type RunsOf<T extends Record<string, Activity>> = {
  readonly [Name in keyof T]: ((input: Parameters<T[Name]>[0]) => string) | null
}

const translated = (error: unknown): unknown => {
  const nonRetryable = isFinal(error)
  if (error instanceof Failure)
    return ApplicationFailure.create({
      message: error.message,
      type: error.code,
      nonRetryable,
      category: ApplicationFailureCategory.BENIGN,
    })
  return nonRetryable && error instanceof Error ? ApplicationFailure.fromError(error, { nonRetryable }) : error
}

/** What was sealed for one run must not serve another. */
const mustWorkFor = (workflowId: string): void => {
  if (Context.current().info.workflowExecution?.workflowId !== workflowId)
    throw new Failure('ACCESS_DENIED', 'The input belongs to another run.')
}

const guarded =
  (activity: Activity, runOf: ((input: never) => string) | null): Activity =>
  async input => {
    try {
      if (runOf) mustWorkFor(runOf(input))
      return await activity(input)
    } catch (error) {
      throw translated(error)
    }
  }

/** Puts every activity behind the check of its run and the translation of its errors. */
export const withBoundary = <T extends Record<string, Activity>>(activities: T, runs: RunsOf<T>): T =>
  Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [name, guarded(activity, runs[name] ?? null)]),
  ) as T
