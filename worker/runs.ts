// Starting runs from inside the worker, by their business ids.
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client'
import type { Runs } from '../activities/services.ts'
import { startOptions } from '../workflows/starts.ts'

/** Starts what is missing on this task queue; what runs already is left alone. */
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
})
