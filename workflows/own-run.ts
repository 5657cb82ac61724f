// What a run is started with names the run: an argument that was sealed for one must not serve another.
import { ApplicationFailure, workflowInfo } from '@temporalio/workflow'

/** Ends the run with ACCESS_DENIED unless it is the one with this id. */
export const mustBeRun = (workflowId: string): void => {
  if (workflowId === workflowInfo().workflowId) return
  throw ApplicationFailure.nonRetryable('The argument belongs to another run.', 'ACCESS_DENIED')
}
