// How the questions about a certificate that go to others are started, as starts.ts does for the others.
import type { fetchCrl } from './fetch-crl.ts'
import { crlFetchWorkflowId, ocspWorkflowId } from './ids.ts'
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

/** The run that fetches the revocation list of a certificate; operators find it by its realm and policy. */
export const fetchCrlRun = ({ id, realmId, policyId }: CheckedCertificate): Start<typeof fetchCrl> => ({
  workflow: 'fetchCrl',
  id: crlFetchWorkflowId(id),
  args: [id],
  summary: `fetch the CRL of certificate ${id}`,
  attributes: attributesOf({ kind: 'CRL', realmId, policyId }),
})
