// What issuing and ordering share: the requests of a call with the caller's right to each, and waiting for runs.
import type { EntityManager } from '@mikro-orm/postgresql'
import { WorkflowNotFoundError } from '@temporalio/client'
import { apiErrors, Failure } from '../../../domain/failure.ts'
import { issueStep, type IssueState } from '../../../domain/issue-rules.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { isOrder } from '../../../workflows/ids.ts'
import { searchAttributes } from '../../../workflows/messages.ts'
import type { issueCertificates, ItemOutcome } from '../../../workflows/issue-certificates.ts'
import type { Caller } from '../../kernel/caller.ts'
import { PENDING, type Pending, type Temporal } from '../../kernel/temporal.ts'

/** What issuing goes through: the records and Temporal. */
export interface Way {
  readonly em: EntityManager
  readonly temporal: Temporal
}

/** A request as the tables of contract 4.2 look at it. */
export const issueStateOf = ({ certRequestStatus, archived, runId, undelivered }: CertRequest): IssueState => ({
  certRequestStatus,
  archived,
  ordered: runId != null && isOrder(runId),
  issuing: runId != null && !isOrder(runId),
  undelivered,
})

/** Answers how to get a request of the list: CERT_REQUEST_NOT_FOUND, or ACCESS_DENIED without the right to issue it. */
export const loadRequests = async (em: EntityManager, caller: Caller, ids: readonly string[]) => {
  const rows = await em.find(CertRequest, { id: { $in: [...ids] } })
  const verdicts = await caller.which(
    'ISSUE',
    rows.map(row => row.place),
  )
  const found = new Map(rows.map((row, index) => [row.id, { row, allowed: verdicts[index] === true }]))
  return (id: string): CertRequest => {
    const { row, allowed } = found.get(id) ?? {}
    if (!row) throw new Failure('CERT_REQUEST_NOT_FOUND')
    if (!allowed) throw new Failure('ACCESS_DENIED')
    return row
  }
}

/** What operators find a run of requests by: those of the first, which stand for a list. */
export const attributesOf = (kind: 'ISSUE' | 'ORDER', [first]: readonly CertRequest[]) => [
  { key: searchAttributes.realmId, value: first?.realmId ?? '' },
  { key: searchAttributes.policyId, value: first?.policyId ?? '' },
  { key: searchAttributes.kind, value: kind },
]

/** Starts the run that issues these requests, or joins it. */
export const startIssue = (temporal: Temporal, runId: string, requests: readonly CertRequest[]): Promise<void> =>
  temporal.start<typeof issueCertificates>('issueCertificates', {
    id: runId,
    args: [requests.map(({ id }) => id)],
    summary: requests.length === 1 ? `issue request ${requests[0]?.id}` : `issue ${requests.length} requests`,
    options: { typedSearchAttributes: attributesOf('ISSUE', requests) },
  })

const pending = { apiError: 'ISSUE_PENDING', errorMessage: apiErrors.ISSUE_PENDING.description } as const

/** The outcomes of a run, or null when there is no such run (yet). */
const endOf = async (temporal: Temporal, runId: string, seconds: number): Promise<ItemOutcome[] | Pending | null> => {
  try {
    return await temporal.wait<ItemOutcome[]>(runId, seconds)
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null
    throw error
  }
}

/**
 * The outcomes of the run that has these requests. A run frees its requests before it ends: where the records still give
 * it some, it has not begun, or what ended is an earlier run of the same id, which was closing when this one was asked for.
 */
const outcomesOf = async ({ em, temporal }: Way, runId: string, seconds: number): Promise<ItemOutcome[] | Pending> => {
  const end = performance.now() + seconds * 1000
  const outcomes = await endOf(temporal, runId, seconds)
  if (outcomes === PENDING) return PENDING
  const held = await em.find(CertRequest, { runId }, { disableIdentityMap: true })
  if (outcomes && held.length === 0) return outcomes
  await startIssue(temporal, runId, held)
  return temporal.wait<ItemOutcome[]>(runId, (end - performance.now()) / 1000)
}

/** Waits for the runs of these requests, all within the same time; what is not there by then is ISSUE_PENDING. */
export const awaitRuns = async (
  way: Way,
  runs: ReadonlyMap<string, readonly CertRequest[]>,
  seconds: number,
): Promise<ReadonlyMap<string, ItemOutcome>> => {
  const waits = [...runs].map(async ([runId, requests]) => {
    const outcomes = await outcomesOf(way, runId, seconds)
    return outcomes === PENDING ? requests.map(({ id }) => ({ certRequestId: id, failure: pending })) : outcomes
  })
  return new Map((await Promise.all(waits)).flat().map(outcome => [outcome.certRequestId, outcome]))
}

/** The certificate of an outcome, else its failure is thrown; without an outcome another call was faster (4.2 again). */
export const certificateIdOf = (request: CertRequest, outcome: ItemOutcome | undefined): string => {
  if (!outcome) issueStep(issueStateOf(request))
  if (outcome?.certificateId) return outcome.certificateId
  const { apiError, errorMessage } = outcome?.failure ?? pending
  throw new Failure(apiError, errorMessage)
}
