// The revocation list of a CA, made by one run at a time; and the schedule that starts such runs.
import { setCurrentDetails } from '@temporalio/workflow'
import { records, signing } from './activities.ts'
import { crlWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'

/** What is recorded later still is told by the next run, which the schedule starts. */
const mostLists = 5

/** Makes the next list of a CA, and another for what was recorded meanwhile; answers the number of the last one. */
export async function issueCrl(caId: string): Promise<number> {
  mustBeRun(crlWorkflowId(caId))
  let made = await signing.issueCrl({ caId })
  for (let lists = 1; made.due && lists < mostLists; lists += 1) made = await signing.issueCrl({ caId })
  setCurrentDetails(`CRL number ${made.number}: ${made.entries} entries, next update ${made.nextUpdate}`)
  return made.number
}

/** Starts the run of every list that is due; "already running" is success. */
export async function renewCrls(): Promise<{ started: number }> {
  return records.startDueCrls()
}
