// Issuing the requests of a chunk, a few at a time: read, sign, store in ONE transaction; while some are stored, the next
// are read and signed. docs/issuance.md numbers these steps and says why a crash at any of them loses and doubles nothing.
import type { EntityManager } from '@mikro-orm/postgresql'
import { log } from '@temporalio/activity'
import pLimit from 'p-limit'
import { Failure } from '../../domain/failure.ts'
import { nextStep } from '../../authority/pacing.ts'
import { kindOf } from '../../authority/providers/kinds.ts'
import type { OpenProvider } from '../../authority/providers/provider.ts'
import type { OpenCase } from '../../authority/request-case.ts'
import { openStored } from '../../authority/stored-cases.ts'
import { issueRequests, type IssueRequest, type Owner } from '../../storage/issue-reading.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import { isFinal } from '../patience.ts'
import type { Services } from '../services.ts'
import { signCertificate, type ReadyRequest } from './sign.ts'
import { storeIssued, type Results } from './store.ts'
import { isGuarded } from './uniqueness.ts'

/** A run that issues requests. */
export interface IssueRun {
  readonly runId: string
  readonly certRequestIds: readonly string[]
}

/** So many are read, signed and stored at once: a commit is progress that no crash takes back. */
const storedAtOnce = 50

/** So many are judged, built and signed side by side: enough for the thread pool, few enough for the event loop. */
const signedAtOnce = 6

const unexpected = new Failure('ISSUE_REJECTED', 'The certificate could not be made; the log of the worker says why.')

/** The unexpected ends its own item alone (and is logged whole): nothing in here depends on a system that is down. */
const outcomeOfFailure = (certRequestId: string, reason: unknown): ItemOutcome => {
  if (!(reason instanceof Failure)) log.error('issuing failed unexpectedly', { certRequestId, error: reason })
  const error = reason instanceof Failure ? reason : unexpected
  return { certRequestId, failure: { apiError: error.code, errorMessage: error.message } }
}

const isReady = ({ certificateId, runId, certRequestStatus }: IssueRequest, run: IssueRun): boolean =>
  !certificateId && runId === run.runId && certRequestStatus === 'APPROVED'

/** What may still be issued by this run, and what is done already. */
const divide = async (em: EntityManager, run: IssueRun, now: Date) => {
  const requests = await issueRequests(em, run.certRequestIds, now)
  return {
    done: requests.flatMap(({ id, certificateId }) => (certificateId ? [{ certRequestId: id, certificateId }] : [])),
    ready: requests.filter(request => isReady(request, run)),
  }
}

const openProviders = async (em: EntityManager, services: Services, cases: readonly OpenCase<Owner>[]) => {
  const open = new Map<string, OpenProvider>()
  for (const provider of new Set(cases.map(one => one.provider)))
    open.set(provider.id, await kindOf(provider).open(em, services, provider))
  return open
}

/** Opens the cases of these requests and the providers that issue for them. */
const openAll = async (
  em: EntityManager,
  services: Services,
  { requests, now }: { readonly requests: readonly IssueRequest[]; readonly now: Date },
): Promise<ReadyRequest[]> => {
  const cases = await openStored(em, requests, now)
  const providers = await openProviders(em, services, cases)
  return requests.flatMap((request, index) => {
    const open = cases[index]
    const provider = open && providers.get(open.provider.id)
    return provider ? [{ request, open, provider }] : []
  })
}

/** What is ready to be stored, and what is there already. */
interface Made extends Results {
  readonly done: readonly ItemOutcome[]
}

const makeFew = async (services: Services, run: IssueRun): Promise<Made> => {
  const em = services.orm.em.fork()
  const now = services.clock()
  const { done, ready } = await divide(em, run, now)
  const open = await openAll(em, services, { requests: ready, now })
  const backdate = await services.settings.integer('issue.backdate-seconds')
  const limit = pLimit(signedAtOnce)
  const sign = async (one: ReadyRequest) => {
    await nextStep()
    return signCertificate(one, backdate)
  }
  const settled = await Promise.allSettled(open.map(one => limit(() => sign(one))))
  const issued = settled.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
  const failed = settled.flatMap((result, index) =>
    result.status === 'rejected' ? [outcomeOfFailure(open[index]?.request.id ?? '', result.reason)] : [],
  )
  return { done, issued, failed }
}

/** Where so many fail and none is issued, it is no matter of single requests: nothing works now. */
const mostFaults = 3

/** Each alone, so that no request of somebody else fails or waits with the one that made them fail together. */
const issueApart = async (services: Services, { runId, certRequestIds }: IssueRun): Promise<ItemOutcome[]> => {
  const outcomes: ItemOutcome[] = []
  const faults: unknown[] = []
  for (const id of certRequestIds) {
    const alone = issueOrEnd(services, { runId, certRequestIds: [id] })
    await alone.then(one => outcomes.push(...one)).catch((error: unknown) => faults.push(error))
    if (outcomes.length === 0 && faults.length === mostFaults) break
  }
  if (faults.length > 0) throw faults[0]
  return outcomes
}

/**
 * What can never succeed ends its request, so that no reconciler begins it anew; all else is for the next attempt, which
 * finds what is issued by then.
 */
const endOrThrow = (services: Services, run: IssueRun, error: unknown): Promise<ItemOutcome[]> => {
  if (run.certRequestIds.length > 1) return issueApart(services, run)
  if (!isFinal(error)) throw error
  const failed = run.certRequestIds.map(id => outcomeOfFailure(id, error))
  return storeIssued(services, run.runId, { issued: [], failed })
}

/** What was made of some requests, or why nothing was: it waits for its turn without being a rejection that nobody heard. */
type Attempt = { readonly made: Made } | { readonly error: unknown }

const attempt = (services: Services, run: IssueRun): Promise<Attempt> =>
  makeFew(services, run).then(
    made => ({ made }),
    (error: unknown) => ({ error }),
  )

const wipeKeys = (tried: Attempt): void => {
  if ('made' in tried) for (const { pkcs8 } of tried.made.issued) pkcs8?.fill(0)
}

/** Nobody was given these; whoever fears that somebody was can revoke them by their serial numbers (contract 12.1). */
const tellSigned = ({ issued }: Made): void => {
  const signed = issued.map(({ certificate, provider }) => ({
    serialNumber: certificate.serialNumber,
    issuerCaId: provider.issuerCaId,
  }))
  if (signed.length > 0) log.warn('certificates were signed and not stored', { signed })
}

const finish = async (services: Services, run: IssueRun, tried: Attempt): Promise<ItemOutcome[]> => {
  if ('error' in tried) return endOrThrow(services, run, tried.error)
  try {
    return [...tried.made.done, ...(await storeIssued(services, run.runId, tried.made))]
  } catch (error) {
    tellSigned(tried.made)
    return endOrThrow(services, run, error)
  } finally {
    wipeKeys(tried)
  }
}

const issueOrEnd = async (services: Services, run: IssueRun): Promise<ItemOutcome[]> =>
  finish(services, run, await attempt(services, run))

/** Whether requests may be judged before these are stored: not where one active certificate forbids another. */
const mayGoAhead = (tried: Attempt): boolean => 'made' in tried && !tried.made.issued.some(isGuarded)

const gone = { apiError: 'INVALID_STATE', errorMessage: 'The request is no longer waiting for this run.' } as const

const partsOf = ({ runId, certRequestIds }: IssueRun): IssueRun[] =>
  Array.from({ length: Math.ceil(certRequestIds.length / storedAtOnce) }, (_, index) => ({
    runId,
    certRequestIds: certRequestIds.slice(index * storedAtOnce, (index + 1) * storedAtOnce),
  }))

/** What is made while something else is stored. */
interface Ahead {
  made?: Promise<Attempt> | undefined
}

/** Each part in turn; `beat` is called between them. The next one is made while one is stored, and never stored before. */
const issueParts = async (
  services: Services,
  parts: readonly IssueRun[],
  { beat, ahead }: { readonly beat: () => void; readonly ahead: Ahead },
): Promise<ItemOutcome[]> => {
  const outcomes: ItemOutcome[] = []
  for (const [index, part] of parts.entries()) {
    if (index > 0) beat()
    const tried = await (ahead.made ?? attempt(services, part))
    const next = parts[index + 1]
    ahead.made = next && mayGoAhead(tried) ? attempt(services, next) : undefined
    outcomes.push(...(await finish(services, part, tried)))
  }
  return outcomes
}

/** Issues the certificates of a run, a few at a time; `beat` is called between them: one issue alone has none. */
export const issueChunk = async (services: Services, run: IssueRun, beat: () => void): Promise<ItemOutcome[]> => {
  const ahead: Ahead = {}
  const outcomes = new Map<string, ItemOutcome>()
  try {
    const all = await issueParts(services, partsOf(run), { beat, ahead })
    for (const outcome of all) outcomes.set(outcome.certRequestId, outcome)
  } finally {
    // Not waited for: a worker that ends has no time for what nobody will store.
    void ahead.made?.then(wipeKeys)
  }
  return run.certRequestIds.map(id => outcomes.get(id) ?? { certRequestId: id, failure: gone })
}
