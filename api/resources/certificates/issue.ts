// Issuing while the caller waits, in the order of docs/issuance.md: which requests he may issue, claiming what nobody
// issues, starting its run, and waiting for it and for the runs that others have started.
import type { EntityManager } from '@mikro-orm/postgresql'
import { WorkflowNotFoundError } from '@temporalio/client'
import { apiErrors, Failure } from '../../../domain/failure.ts'
import { issueStep, type IssueState, type IssueStep } from '../../../domain/issue-rules.ts'
import { findByIds } from '../../../storage/by-ids.ts'
import { claimRequests } from '../../../storage/claims.ts'
import { CertRequest } from '../../../storage/rows/cert-request.ts'
import { isOrder } from '../../../workflows/ids.ts'
import type { ItemOutcome } from '../../../workflows/issue-certificates.ts'
import { issueRun } from '../../../workflows/starts.ts'
import type { Caller } from '../../kernel/caller.ts'
import { denied } from '../../kernel/denied.ts'
import { PENDING, type Pending, type Temporal } from '../../kernel/temporal.ts'

type Issuable = Pick<CertRequest, 'certRequestStatus' | 'archived' | 'runId' | 'undelivered'>

/** A request as the tables of contract 4.2 look at it. */
export const issueStateOf = ({ certRequestStatus, archived, runId, undelivered }: Issuable): IssueState => ({
  certRequestStatus,
  archived,
  ordered: runId != null && isOrder(runId),
  issuing: runId != null && !isOrder(runId),
  undelivered,
})

/** Answers how to get one of these requests: CERT_REQUEST_NOT_FOUND, or ACCESS_DENIED without the right to issue it. */
export const mayIssue = async <T extends Pick<CertRequest, 'id' | 'place'>>(caller: Caller, rows: readonly T[]) => {
  const verdicts = await caller.which(
    'ISSUE',
    rows.map(row => row.place),
  )
  const found = new Map(rows.map((row, index) => [row.id, { row, allowed: verdicts[index] === true }]))
  return (id: string): T => {
    const { row, allowed } = found.get(id) ?? {}
    if (!row) throw new Failure('CERT_REQUEST_NOT_FOUND')
    if (!allowed) throw denied('ISSUE')
    return row
  }
}

/** As mayIssue, for the requests of a list. */
export const loadRequests = async (em: EntityManager, caller: Caller, ids: readonly string[]) =>
  mayIssue(caller, await findByIds(em, CertRequest, ids))

/** A request and what a synchronous call does with it. */
export interface Planned {
  readonly request: CertRequest
  readonly step: IssueStep
}

/** What a synchronous call does with a request, or its refusal. */
export const plan = (request: CertRequest): Planned => ({ request, step: issueStep(issueStateOf(request)) })

/** What issuing goes through: the records and Temporal. */
export interface Issuing {
  readonly em: EntityManager
  readonly temporal: Temporal
  readonly clock: () => Date
}

/** Which run is waited for, and how long. */
export interface Patience {
  readonly runId: string
  readonly seconds: number
}

/** A certificate is there for good: whichever run of this id made it, it is the outcome. */
const areIssued = (outcomes: readonly ItemOutcome[], ids: readonly string[]): boolean => {
  const issued = new Set(outcomes.filter(({ certificateId }) => certificateId).map(one => one.certRequestId))
  return ids.every(id => issued.has(id))
}

/** Claims those of the requests that nobody issues and starts their run; answers their ids. */
export const begin = async (
  { em, temporal, clock }: Issuing,
  runId: string,
  requests: readonly CertRequest[],
): Promise<ReadonlySet<string>> => {
  const ids = requests.map(({ id }) => id)
  if (ids.length === 0) return new Set()
  const claimed = await claimRequests(em, runId, { ids, states: ['APPROVED'], now: clock() })
  const mine = requests.filter(({ id }) => claimed.has(id))
  if (mine.length > 0) await temporal.start(issueRun(runId, mine))
  return claimed
}

/** Whether a run ended because somebody else had started it: none of ours does (docs/security.md). */
const isForeign = (error: unknown): boolean => error instanceof Failure && error.code === 'ACCESS_DENIED'

/** The outcomes of a run, or null when there is no such run (yet). */
const endOf = async (temporal: Temporal, runId: string, seconds: number): Promise<ItemOutcome[] | Pending | null> => {
  try {
    return await temporal.wait<ItemOutcome[]>(runId, seconds)
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || isForeign(error)) return null
    throw error
  }
}

/**
 * The outcomes of the run that has these requests. A run frees its requests before it ends: where the records still give
 * it some, it has not begun, or what ended is an earlier run of the same id, which was closing when this one was asked for.
 */
export const outcomesOf = async (
  { em, temporal }: Issuing,
  ids: readonly string[],
  { runId, seconds }: Patience,
): Promise<ItemOutcome[] | Pending> => {
  const end = performance.now() + seconds * 1000
  const outcomes = await endOf(temporal, runId, seconds)
  if (outcomes === PENDING) return PENDING
  if (outcomes && areIssued(outcomes, ids)) return outcomes
  const held = await em.find(CertRequest, { runId }, { disableIdentityMap: true })
  if (outcomes && held.length === 0) return outcomes
  await temporal.start(issueRun(runId, held))
  return temporal.wait<ItemOutcome[]>(runId, (end - performance.now()) / 1000)
}

/** What is told of a request whose certificate was not there in time. */
export const pending = { apiError: 'ISSUE_PENDING', errorMessage: apiErrors.ISSUE_PENDING.description } as const

/** Waits for a run that has these requests; answers the outcome of each. */
const waitFor = async (
  issuing: Issuing,
  requests: readonly CertRequest[],
  patience: Patience,
): Promise<ItemOutcome[]> => {
  const ids = requests.map(({ id }) => id)
  const outcomes = await outcomesOf(issuing, ids, patience)
  return outcomes === PENDING ? ids.map(id => ({ certRequestId: id, failure: pending })) : outcomes
}

/** Waits so many seconds for the runs that others have started for these requests; answers the outcome of each. */
export const joinRuns = async (
  issuing: Issuing,
  requests: readonly CertRequest[],
  seconds: number,
): Promise<ItemOutcome[]> => {
  const running = requests.filter(({ runId }) => runId && !isOrder(runId))
  const runs = Map.groupBy(running, ({ runId }) => runId ?? '')
  const waits = [...runs].map(([runId, theirs]) => waitFor(issuing, theirs, { runId, seconds }))
  return (await Promise.all(waits)).flat()
}

/** Issues a list by a run of its own and answers the outcome of each request; what is not there in time is ISSUE_PENDING. */
export const issueAndWait = async (
  issuing: Issuing,
  planned: readonly Planned[],
  { runId, seconds }: Patience,
): Promise<ReadonlyMap<string, ItemOutcome>> => {
  const requestsTo = (wanted: IssueStep) => planned.filter(({ step }) => step === wanted).map(one => one.request)
  const claimed = await begin(issuing, runId, requestsTo('ISSUE'))
  const mine = requestsTo('ISSUE').filter(({ id }) => claimed.has(id))
  const overtaken = requestsTo('ISSUE').filter(({ id }) => !claimed.has(id))
  for (const request of overtaken) await issuing.em.refresh(request)
  const waits = [joinRuns(issuing, [...overtaken, ...requestsTo('JOIN')], seconds)]
  if (mine.length > 0) waits.push(waitFor(issuing, mine, { runId, seconds }))
  return new Map((await Promise.all(waits)).flat().map(outcome => [outcome.certRequestId, outcome]))
}

/** The certificate of an outcome, else its failure is thrown; without an outcome another call was faster (4.2 again). */
export const certificateIdOf = (request: CertRequest, outcome: ItemOutcome | undefined): string => {
  if (!outcome) issueStep(issueStateOf(request))
  if (outcome?.certificateId) return outcome.certificateId
  const { apiError, errorMessage } = outcome?.failure ?? pending
  throw new Failure(apiError, errorMessage)
}
