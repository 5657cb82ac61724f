// Starting runs from inside the worker, by their business ids.
import type { Client } from '@temporalio/client'
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { Runs } from '../activities/services.ts'

/** Starts what is missing on this task queue; what runs already is left alone. */
export const createRuns = (client: Client, taskQueue: string): Runs => ({
  start: async ({ workflow, id, args, options }) => {
    try {
      await client.workflow.start(workflow, {
        workflowId: id,
        taskQueue,
        args,
        workflowIdConflictPolicy: 'FAIL',
        staticSummary: `${workflow}, started by the reconciler`,
        ...options,
      })
      return true
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false
      throw error
    }
  },
})
