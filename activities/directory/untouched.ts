// How an activity says that the identity provider surely did nothing, so that its run has nothing to undo.
import { Context } from '@temporalio/activity'
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import { DirectoryTrouble } from './trouble.ts'

/** What surely changed nothing at the first attempt ends the call at once, and there is nothing to undo. */
export const tellingUntouched = async <T>(ask: () => Promise<T>): Promise<T> => {
  try {
    return await ask()
  } catch (error) {
    const isFirst = Context.current().info.attempt === 1
    if (!(error instanceof DirectoryTrouble) || !error.untouched || !isFirst) throw error
    throw ApplicationFailure.create({
      message: error.message,
      type: error.code,
      nonRetryable: true,
      details: ['UNTOUCHED'],
      category: ApplicationFailureCategory.BENIGN,
    })
  }
}
