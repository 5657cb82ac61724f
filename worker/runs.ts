// Starting and ending runs from inside the worker, by their business ids.
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError, type Client } from '@temporalio/client'
import type { Runs } from '../activities/services.ts'
import { startOptions } from '../workflows/starts.ts'

/** Starts what is missing on this task queue; what runs already is left alone. Ends what runs. */
export const createRuns = (client: Client, taskQueue: string): Runs => ({
  start: async run => {
    try {
      await client.workflow.start(run.workflow, {
        ...startOptions(run, taskQueue),
        workflowIdConflictPolicy: 'FAIL',
      })
      return true
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false
      throw error
    }
  },
  end: async workflowId => {
    try {
      await client.workflow.getHandle(workflowId).cancel()
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error
    }
  },
})
