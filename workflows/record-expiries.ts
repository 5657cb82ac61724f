// The schedule that records which certificates expired (contract 4.3).
import { setCurrentDetails } from '@temporalio/workflow'
import { records } from './activities.ts'

/** So many chunks at most in one run, which is a million certificates; the next run of the schedule goes on. */
const maxChunks = 1000

/** Records in bounded transactions what expired since the last look; a run that is broken off leaves the rest to the next. */
export async function recordExpiries(): Promise<{ recorded: number }> {
  let recorded = 0
  for (let chunk = 0; chunk < maxChunks; chunk++) {
    const done = await records.recordExpiries()
    recorded += done.recorded
    setCurrentDetails(`${recorded} expiries recorded`)
    if (!done.more) break
  }
  return { recorded }
}
