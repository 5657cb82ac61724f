// The schedule that starts what a crash between flush and start left behind.
import { records } from './activities.ts'

/** Starts every run that the records say should be running and is not; "already running" is success. */
export async function reconcile(): Promise<{ started: number }> {
  return records.startMissingRuns()
}
