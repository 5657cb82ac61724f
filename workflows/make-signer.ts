// The SCEP signer of a policy, made by one run at a time.
import { signing } from './activities.ts'
import { signerWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'

/** Makes the next SCEP signer of a policy when it is due; a second run changes nothing. */
export async function makeSigner(policyId: string): Promise<void> {
  mustBeRun(signerWorkflowId(policyId))
  await signing.makeSigner({ policyId })
}
