// How the check of a certificate's OCSP status is started, as starts.ts does for the others.
import { ocspWorkflowId } from './ids.ts'
import type { checkOcspStatus } from './ocsp.ts'
import { attributesOf } from './run-facts.ts'
import type { Start } from './starts.ts'

/** A certificate whose status is asked for. */
export interface CheckedCertificate {
  readonly id: string
  readonly realmId: string
  readonly policyId: string
}

/** The run that asks the responder of a certificate; operators find it by its realm and policy. */
export const checkOcspStatusRun = ({ id, realmId, policyId }: CheckedCertificate): Start<typeof checkOcspStatus> => ({
  workflow: 'checkOcspStatus',
  id: ocspWorkflowId(id),
  args: [id],
  summary: `ask for the OCSP status of certificate ${id}`,
  attributes: attributesOf({ kind: 'OCSP', realmId, policyId }),
})
