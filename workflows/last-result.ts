// The result that a schedule hands to its next run was sealed for the run before, and is refused in this one. Nobody needs
// it, and a refused value cannot be copied as the SDK copies the facts of a run for its log: the run would never begin.
import { workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow'

/** Forgets that result where the run begins: the SDK puts it there after this factory is called. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      execute: (input, next) => {
        delete (workflowInfo() as { lastResult?: unknown }).lastResult
        return next(input)
      },
    },
  ],
})
