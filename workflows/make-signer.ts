// The signer of a policy, made by one run at a time for each kind.
import type { SignerKind } from '../domain/signer-rules.ts'
import { signing } from './activities.ts'
import { signerWorkflowId } from './ids.ts'
import { mustBeRun } from './own-run.ts'

/** Makes the next signer of a policy when it is due; a second run changes nothing. */
export async function makeSigner(policyId: string, kind: SignerKind = 'SCEP'): Promise<void> {
  mustBeRun(signerWorkflowId(policyId, kind))
  await signing.makeSigner({ policyId, kind })
}
