// Changes of principals at the identity provider and in the records: the identity provider first, then the records; what
// fails at either side is undone as the records tell (contract 1.5).
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow'

/** So long after its start a run may begin to record: who has asked is told that nothing has changed soon after. */
const patienceMs = 25_000

const late = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('It took too long; nothing has changed.', 'SERVICE_UNAVAILABLE')

/** Ends the run when whoever asked has been told that nothing has changed. */
export const mustBeInTime = (): void => {
  if (Date.now() - workflowInfo().startTime.getTime() > patienceMs) throw late()
}

/** A change at both sides. */
export interface Saga {
  /** What is written at the identity provider. */
  readonly write: () => Promise<unknown>
  /** What is recorded then. */
  readonly commit: () => Promise<unknown>
  /** Makes the identity provider as the records say, and answers whether what was to be recorded is. */
  readonly undo: () => Promise<boolean>
}

const causeOf = (error: unknown): ApplicationFailure | undefined =>
  error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : undefined

/** Whether the identity provider surely did nothing. */
const isUntouched = (error: unknown): boolean => causeOf(error)?.details?.[0] === 'UNTOUCHED'

/** What an activity was refused with, else that it had no end in time. */
export const told = (error: unknown, otherwise: ApplicationFailure): unknown =>
  error instanceof ActivityFailure && !causeOf(error) && !isCancellation(error) ? otherwise : error

/** The identity provider took too long. */
export const noAnswer = (): ApplicationFailure =>
  ApplicationFailure.nonRetryable('The identity provider gave no answer in time.', 'IDENTITY_PROVIDER_ERROR')

const undone = async ({ undo }: Saga): Promise<boolean> => {
  setCurrentDetails('Undoes at the identity provider what could not be ended')
  const recorded = await CancellationScope.nonCancellable(undo)
  setCurrentDetails(recorded ? 'Recorded' : 'Undone')
  return recorded
}

const writeFirst = async (saga: Saga): Promise<void> => {
  mustBeInTime()
  try {
    await saga.write()
  } catch (error) {
    if (!isUntouched(error)) await undone(saga)
    throw told(error, noAnswer())
  }
}

/** Writes at the identity provider, then records it; what fails at either side is undone as the records tell. */
export const carryOut = async (saga: Saga): Promise<void> => {
  await writeFirst(saga)
  try {
    mustBeInTime()
    await saga.commit()
  } catch (error) {
    if (!(await undone(saga))) throw told(error, late())
  }
}

/** Why an activity failed, in words for whoever asked; what is no failure of an activity is thrown. */
export const reasonIn = (error: unknown): string => {
  if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error
  return causeOf(error)?.message ?? noAnswer().message
}
