// The signer of the OCSP answers of a CA, made by one run at a time; and the schedule that starts such runs.
import { records, signing } from './activities.ts'
import { ocspSignerWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'

/** Makes the next OCSP signer of a CA when it is due; a second run changes nothing. */
export async function makeOcspSigner(caId: string): Promise<void> {
  mustBeRun(ocspSignerWorkflowId(caId))
  await signing.makeOcspSigner({ caId })
}

/** Starts the run of every signer that is due; "already running" is success. */
export async function renewOcspSigners(): Promise<{ started: number }> {
  return records.startDueOcspSigners()
}
