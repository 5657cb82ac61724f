// Group commit for synchronous issuing: calls that come while runs of this process are under way are issued together by the
// next run, with one claim, one start and one transaction; each call hears what became of its own request.
import { setInterval, setTimeout as after } from 'node:timers/promises'
import { Failure } from '../../../domain/failure.ts'
import { issuedAmong } from '../../../storage/claims.ts'
import type { CertRequest } from '../../../storage/rows/cert-request.ts'
import { issueWorkflowId } from '../../../workflows/ids.ts'
import type { ItemOutcome } from '../../../workflows/issue-certificates.ts'
import { Groups, type Asked } from '../../kernel/groups.ts'
import { PENDING, type Pending, type Temporal } from '../../kernel/temporal.ts'
import { begin, joinRuns, outcomesOf, pending, type Issuing, type Planned } from './issue.ts'

/** A request that somebody waits for. */
interface Wanted {
  readonly issuing: Issuing
  readonly request: CertRequest
  readonly seconds: number
}
/** What became of it, or that the run of somebody else has it. */
type Verdict = ItemOutcome | 'OVERTAKEN'
type Group = readonly Asked<Wanted, Verdict>[]

/** Those whose run has just ended come back together, and a run costs the same for one as for all of them. */
const gatherMs = 50

/** A run that takes longer holds neither the next one nor those of its own requests that are issued already. */
const patienceMs = 1000

const requestsOf = (group: Group): CertRequest[] => [
  ...new Map(group.map(({ item: { request } }) => [request.id, request])).values(),
]

const answerAll = (group: Group, outcomes: Iterable<ItemOutcome>): void => {
  const known = new Map([...outcomes].map(outcome => [outcome.certRequestId, outcome]))
  for (const { item, answer } of group) {
    const outcome = known.get(item.request.id)
    if (outcome) answer(outcome)
  }
}

/** Tells those whose certificate is there while their run still works on others. */
const tellEarly = async (group: Group, { em }: Issuing, signal: AbortSignal): Promise<void> => {
  const ids = group.map(({ item }) => item.request.id)
  for await (const _ of setInterval(patienceMs, undefined, { signal })) {
    answerAll(group, await issuedAmong(em.fork(), ids))
  }
}

/** Waits for the run of a group as long as the most patient of it does, and tells each what became of his request. */
const waitTogether = async (group: Group, issuing: Issuing, runId: string): Promise<void> => {
  const seconds = Math.max(...group.map(({ item }) => item.seconds))
  const over = new AbortController()
  // It looks for what is known a little earlier: where it fails, the end of the run tells.
  tellEarly(group, issuing, over.signal).catch(() => {})
  const ids = group.map(({ item }) => item.request.id)
  const outcomes = await outcomesOf(issuing, ids, { runId, seconds }).finally(() => over.abort())
  if (outcomes !== PENDING) answerAll(group, outcomes)
  for (const { item, answer } of group) answer({ certRequestId: item.request.id, failure: pending })
}

/** A run of one has the id of its request, so that operators find it without looking. */
const runIdOf = ([first, ...others]: readonly CertRequest[]): string =>
  issueWorkflowId(first && others.length === 0 ? first.id : crypto.randomUUID())

const issueGroup = async (group: Group): Promise<void> => {
  const [first] = group
  if (!first) return
  const issuing = { ...first.item.issuing, em: first.item.issuing.em.fork() }
  const requests = requestsOf(group)
  const runId = runIdOf(requests)
  const claimed = await begin(issuing, runId, requests)
  const mine = group.filter(({ item }) => claimed.has(item.request.id))
  for (const { item, answer } of group) if (!claimed.has(item.request.id)) answer('OVERTAKEN')
  if (mine.length > 0) await waitTogether(mine, issuing, runId)
}

interface Lines {
  readonly quick: Groups<Wanted, Verdict>
  readonly slow: Groups<Wanted, Verdict>
}

/** The requests of a run are found in Temporal by their ids, of which it takes about forty. */
const makeLines = (): Lines => ({
  quick: new Groups({ atOnce: 2, size: 32, gatherMs, patienceMs, work: issueGroup }),
  slow: new Groups({ atOnce: 2, size: 4, gatherMs, patienceMs, work: issueGroup }),
})

const linesOf = new WeakMap<Temporal, Lines>()

/** An RSA key takes up to seconds to make: those who wait for one wait beside the others. */
const lineOf = (lines: Lines, { keyPairMode, keyGenParamsDto }: CertRequest): Groups<Wanted, Verdict> =>
  keyPairMode === 'SERVER_GEN' && keyGenParamsDto?.cryptoAlgorithm === 'RSA' ? lines.slow : lines.quick

/** Waits for the verdict as long as the caller does; who is not begun by then is not begun any more. */
const verdictOf = async (who: string, wanted: Wanted): Promise<Verdict> => {
  const { request, seconds, issuing } = wanted
  const lines = linesOf.get(issuing.temporal) ?? makeLines()
  linesOf.set(issuing.temporal, lines)
  const { result, leave } = lineOf(lines, request).ask(who, wanted)
  const heard = new AbortController()
  const late = after<Pending>(seconds * 1000, PENDING, { signal: heard.signal })
  const verdict = await Promise.race([result, late]).finally(() => heard.abort())
  late.catch(() => {})
  if (verdict !== PENDING) return verdict
  if (leave()) throw new Failure('SERVICE_UNAVAILABLE', 'Too many certificates are being issued: nothing was begun.')
  return { certRequestId: request.id, failure: pending }
}

/** Issues one request in a group with the calls that wait at the same moment; what is not there in time is ISSUE_PENDING. */
export const issueTogether = async (
  issuing: Issuing,
  { request, step }: Planned,
  { who, seconds }: { who: string; seconds: number },
): Promise<ReadonlyMap<string, ItemOutcome>> => {
  const end = performance.now() + seconds * 1000
  const verdict = step === 'ISSUE' ? await verdictOf(who, { issuing, request, seconds }) : 'OVERTAKEN'
  if (verdict !== 'OVERTAKEN') return new Map([[request.id, verdict]])
  if (step === 'ISSUE') await issuing.em.refresh(request)
  const outcomes = await joinRuns(issuing, [request], (end - performance.now()) / 1000)
  return new Map(outcomes.map(outcome => [outcome.certRequestId, outcome]))
}
