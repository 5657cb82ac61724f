// Deleting archived resources part by part, until nothing is left of what was asked for (contract 4.5).
import { continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow'
import { purging } from './activities.ts'
import { mustBeRun } from './own-run.ts'
import { tellState } from './run-state.ts'

/** A longer history goes on as a new run: the records tell what is left. */
const longestHistory = 2000

type Progress = Awaited<ReturnType<typeof purging.purgePart>>

const describe = ({ total, deleted, along, skipped }: Progress): string =>
  `${deleted} of ${total} deleted, ${along} others with them; ${skipped} skipped`

/** Runs a purge to its end, and answers how many resources it deleted and skipped. */
export async function purgeArchived(purgeId: string): Promise<{ deleted: number; skipped: number }> {
  mustBeRun(purgeId)
  for (;;) {
    const progress = await purging.purgePart({ purgeId })
    setCurrentDetails(describe(progress))
    if (progress.closed) {
      tellState('COMPLETED')
      return { deleted: progress.deleted, skipped: progress.skipped }
    }
    if (workflowInfo().historyLength > longestHistory) await continueAsNew<typeof purgeArchived>(purgeId)
  }
}
