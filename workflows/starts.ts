// How each workflow is started, said once: the API starts runs with it, and the reconciler those that a crash left behind.
import type { SearchAttributePair, Workflow, WorkflowResultType } from '@temporalio/common'
import type { RequestState } from '../domain/lifecycle.ts'
import type { SignerKind } from '../domain/signer-rules.ts'
import type { certRequest } from './cert-request.ts'
import {
  certRequestWorkflowId,
  crlWorkflowId,
  mailCheckWorkflowId,
  mailWorkflowId,
  ocspSignerWorkflowId,
  providerWorkflowId,
  signerWorkflowId,
} from './ids.ts'
import type { issueCertificates } from './issue-certificates.ts'
import type { issueCrl } from './issue-crl.ts'
import type { makeSigner } from './make-signer.ts'
import type { makeOcspSigner } from './ocsp-signers.ts'
import type { orderCertificates } from './order-certificates.ts'
import type { checkProvider, prepareProvider } from './provider.ts'
import type { rollOver } from './rollover.ts'
import type { revokeCertificates } from './revoke-certificates.ts'
import { attributesOf, type LocatedRequest } from './run-facts.ts'
import type { checkMailServer, sendMails } from './send-mails.ts'

/** The start of one run. */
export interface Start<W extends Workflow = Workflow> {
  /** The name of the workflow. */
  readonly workflow: string
  /** The workflow id, a business id of `ids.ts`. */
  readonly id: string
  readonly args: Parameters<W>
  /** A line for operators, without names of people. */
  readonly summary: string
  readonly attributes: SearchAttributePair[]
  /** Never there: carries the type of the result. */
  readonly result?: WorkflowResultType<W>
}

/** A policy that a signer is made for. */
export interface PolicyOfSigner {
  readonly id: string
  readonly realmId: string
  readonly name: string
}

/** A summary may have 400 octets, sealed. */
const longestName = 30

const shortName = (name: string): string => {
  const letters = Array.from(name)
  return letters.length > longestName ? `${letters.slice(0, longestName).join('')}…` : name
}

const policyOf = (requests: readonly LocatedRequest[]): string => {
  const names = new Set(requests.map(({ policyName }) => policyName))
  const [name = ''] = names
  if (names.size > 1) return `${names.size} policies`
  return `policy ${shortName(name)}`
}

/** One line that tells a run from others: how many requests, of which policy. */
const summaryOf = (verb: string, count: number, requests: readonly LocatedRequest[]): string => {
  if (requests.length === 0) return `${verb} ${count} requests`
  return `${verb} ${count === 1 ? '1 request' : `${count} requests`} of ${policyOf(requests)}`
}

/** The run that waits so many days for the decision on a request. */
export const certRequestRun = (
  request: LocatedRequest & { readonly state: RequestState },
  waitDays: number,
): Start<typeof certRequest> => ({
  workflow: 'certRequest',
  id: certRequestWorkflowId(request.id),
  args: [{ certRequestId: request.id, state: request.state, waitDays }],
  summary: summaryOf('decide on', 1, [request]),
  attributes: attributesOf({ kind: 'CERT_REQUEST', requests: [request], state: request.state.status }),
})

/** The run that issues these requests now; operators find it by the realm and policy of the first. */
export const issueRun = (runId: string, requests: readonly LocatedRequest[]): Start<typeof issueCertificates> => ({
  workflow: 'issueCertificates',
  id: runId,
  args: [requests.map(({ id }) => id)],
  summary: summaryOf('issue', requests.length, requests),
  attributes: attributesOf({ kind: 'ISSUE', requests }),
})

/** An order of so many requests; operators find it by those that are listed, and by the realm and policy of the first. */
export interface PlacedOrder {
  readonly id: string
  readonly count: number
  readonly requests: readonly LocatedRequest[]
}

/** The run that carries out an order. */
export const orderRun = ({ id, count, requests }: PlacedOrder): Start<typeof orderCertificates> => ({
  workflow: 'orderCertificates',
  id,
  args: [id],
  summary: summaryOf('order', count, requests),
  attributes: attributesOf({ kind: 'ORDER', requests }),
})

/** The run that makes what a certificate provider needs before it can issue. */
export const prepareProviderRun = (providerId: string): Start<typeof prepareProvider> => ({
  workflow: 'prepareProvider',
  id: providerWorkflowId('prepare', providerId),
  args: [providerId],
  summary: `prepare provider ${providerId}`,
  attributes: attributesOf({ kind: 'PROVIDER' }),
})

/** The run that tries the connection of a certificate provider. */
export const checkProviderRun = (providerId: string): Start<typeof checkProvider> => ({
  workflow: 'checkProvider',
  id: providerWorkflowId('check', providerId),
  args: [providerId],
  summary: `check the connection of provider ${providerId}`,
  attributes: attributesOf({ kind: 'PROVIDER' }),
})

/** The run that gives the CA of a certificate provider to the next one. */
export const rolloverRun = (providerId: string): Start<typeof rollOver> => ({
  workflow: 'rollOver',
  id: providerWorkflowId('rollover', providerId),
  args: [providerId],
  summary: `roll over the CA of provider ${providerId}`,
  attributes: attributesOf({ kind: 'PROVIDER' }),
})

/**
 * The run that sends the mails of one event, by the id that queuing them answered; operators find it by its realm. A group
 * that may gather more first has its run ask for it.
 */
export const sendMailsRun = (groupId: string, realmId?: string | null, mayGather = false): Start<typeof sendMails> => ({
  workflow: 'sendMails',
  id: mailWorkflowId(groupId),
  args: mayGather ? [groupId] : [groupId, true],
  summary: `send the mails ${groupId}`,
  attributes: attributesOf({ kind: 'MAIL', realmId }),
})

/** The run of the first of these groups of a realm, that carries the others as well. */
export const sendManyMailsRun = (groupIds: readonly string[], realmId: string | null): Start<typeof sendMails> => {
  const [first = '', ...others] = groupIds
  const run = sendMailsRun(first, realmId)
  return others.length === 0 ? run : { ...run, summary: `${run.summary} and of ${others.length} more` }
}

/** The run that sends a test mail to a user. */
export const checkMailServerRun = (userId: string): Start<typeof checkMailServer> => ({
  workflow: 'checkMailServer',
  id: mailCheckWorkflowId(userId),
  args: [userId],
  summary: `send a test mail to user ${userId}`,
  attributes: attributesOf({ kind: 'MAIL' }),
})

/** A revocation of so many certificates; operators find it by the requests of those that are listed. */
export interface PlacedRevocation {
  /** The id of its run. */
  readonly id: string
  readonly count: number
  readonly requests: readonly LocatedRequest[]
}

/** The run that revokes, holds or releases certificates. */
export const revokeRun = ({ id, count, requests }: PlacedRevocation): Start<typeof revokeCertificates> => ({
  workflow: 'revokeCertificates',
  id,
  args: [id],
  summary: summaryOf('revoke the certificates of', count, requests),
  attributes: attributesOf({ kind: 'REVOKE', requests }),
})

/** The run that makes the next revocation list of a CA. */
export const crlRun = (caId: string): Start<typeof issueCrl> => ({
  workflow: 'issueCrl',
  id: crlWorkflowId(caId),
  args: [caId],
  summary: `issue the CRL of CA ${caId}`,
  attributes: attributesOf({ kind: 'CRL' }),
})

/** The run that makes the next signer of a policy; operators find it by its realm and policy. */
export const signerRun = ({ id, realmId, name }: PolicyOfSigner, kind: SignerKind): Start<typeof makeSigner> => ({
  workflow: 'makeSigner',
  id: signerWorkflowId(id, kind),
  args: [id, kind],
  summary: `make the ${kind} signer of policy ${shortName(name)}`,
  attributes: attributesOf({ kind: 'SIGNER', realmId, policyId: id }),
})

/** The run that makes the next OCSP signer of a CA. */
export const ocspSignerRun = (caId: string): Start<typeof makeOcspSigner> => ({
  workflow: 'makeOcspSigner',
  id: ocspSignerWorkflowId(caId),
  args: [caId],
  summary: `make the OCSP signer of CA ${caId}`,
  attributes: attributesOf({ kind: 'SIGNER' }),
})

/** A start as the client of Temporal takes it. */
export const startOptions = ({ id, args, summary, attributes }: Start, taskQueue: string) => ({
  workflowId: id,
  taskQueue,
  args,
  staticSummary: summary,
  typedSearchAttributes: attributes,
})
