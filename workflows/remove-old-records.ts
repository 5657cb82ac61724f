// The schedule that removes the mails and tokens of long ago.
import { records } from './activities.ts'

/** So many chunks at most in one run; the next run goes on. */
const maxChunks = 100

/** Removes in bounded statements what has served. */
export async function removeOldRecords(): Promise<void> {
  for (let chunk = 0; chunk < maxChunks; chunk++) if (!(await records.removeOldRecords()).more) break
}
