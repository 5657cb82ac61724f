// Workflow ids are business ids; this is the one place that makes them and reads them back.
import type { EntitiesEnum } from '../domain/enums.ts'
import type { SignerKind } from '../domain/signer-rules.ts'

/** The run that waits for the decision on a request. */
export const certRequestWorkflowId = (certRequestId: string): string => `cert-request/${certRequestId}`

/** The run that issues, for one request its id, for a list an id of the list's own. */
export const issueWorkflowId = (id: string): string => `issue/${id}`

/** The id of an order, which is its workflow id as well: contract 4.2 allows `A-Z a-z 0-9 _ -` only. */
export const orderWorkflowId = (id: string): string => `order-${id}`

/** Whether a run is an asynchronous order. */
export const isOrder = (workflowId: string): boolean => workflowId.startsWith('order-')

/** The run that revokes, holds or releases certificates, by an id of the call's own. */
export const revokeWorkflowId = (id: string): string => `revoke/${id}`

/** The run that makes the next revocation list of a CA: at most one at a time. */
export const crlWorkflowId = (caId: string): string => `crl/${caId}`

/** The run that makes the next OCSP signer of a CA: at most one at a time. */
export const ocspSignerWorkflowId = (caId: string): string => `ocsp-signer/${caId}`

/** The run that makes the next signer of a policy: at most one of each kind at a time. */
export const signerWorkflowId = (policyId: string, kind: SignerKind = 'SCEP'): string =>
  kind === 'SCEP' ? `signer/${policyId}` : `cmp-signer/${policyId}`

/** The run that deletes archived resources of a kind, by an id of the call's own. */
export const purgeWorkflowId = (kind: EntitiesEnum, id: string): string => `purge/${kind}/${id}`

/** The run that makes or checks a certificate provider, or gives its CA to the next one: one of each at a time. */
export const providerWorkflowId = (verb: 'prepare' | 'check' | 'rollover', providerId: string): string =>
  `provider-${verb}/${providerId}`

/** The run that makes, changes or deletes an API client: one at a time. */
export const apiClientWorkflowId = (apiClientId: string): string => `api-client/${apiClientId}`

/** The run that sends the mails of one event, and of those that it carries. */
export const mailWorkflowId = (groupId: string): string => `mail/${groupId}`

/** The run that sends a test mail to a user. */
export const mailCheckWorkflowId = (userId: string): string => `mail-check/${userId}`

/** The run that asks the OCSP responder of a certificate: those who ask at the same time share it. */
export const ocspWorkflowId = (certificateId: string): string => `ocsp/${certificateId}`

/** The run that fetches the revocation list of a certificate that was issued elsewhere: those who ask at once share it. */
export const crlFetchWorkflowId = (certificateId: string): string => `crl-fetch/${certificateId}`

/** The run that registers or changes a user: one at a time. */
export const userWorkflowId = (userId: string): string => `user/${userId}`

/** The run that has mails sent to users, by the id of their list. */
export const passwordMailsWorkflowId = (listId: string): string => `password-mails/${listId}`

/** The run that brings principals of the identity provider in: at most one of each kind at a time. */
export const importWorkflowId = (kind: 'USER' | 'API_CLIENT'): string =>
  kind === 'USER' ? 'import-users' : 'import-clients'
