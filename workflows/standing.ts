// How a request stands in its run: what the records have told, and on top of it the messages that are being recorded now.
import { patched, setCurrentDetails } from '@temporalio/workflow'
import type { CertRequestStatus } from '../domain/enums.ts'
import { isWaiting, type RequestState } from '../domain/lifecycle.ts'
import type { Decided } from './messages.ts'

/** How a message leads on from a state; throws where it does not. */
export type Step = (state: RequestState) => RequestState

/** The state that a run has reached, and how a message leads on from it. */
export interface Standing {
  readonly now: () => RequestState
  /** Takes the step at once, so that the next message is judged by it, and takes it back when it is not recorded. */
  readonly enter: (step: Step, write: () => Promise<Decided>) => Promise<Decided>
}

/** What operators read of a request. */
export const describe = ({ status, approverIds }: RequestState): string =>
  isWaiting(status) ? `Waits: ${status}, ${approverIds.length} approval(s) so far` : `Decided: ${status}`

const tried = (state: RequestState, step: Step): RequestState => {
  try {
    return step(state)
  } catch {
    return state
  }
}

/** The records have the last word; of two answers that came in another order than they were written, the one that ends it. */
const toldBy = (recorded: RequestState, step: Step, status: CertRequestStatus): RequestState =>
  isWaiting(recorded.status) ? { ...tried(recorded, step), status } : recorded

const sorted = ({ status, approverIds }: RequestState): string => [status, ...approverIds.toSorted()].join()

/** A request that stands so when its run begins. */
export const standingAt = (begin: RequestState): Standing => {
  let recorded = begin
  let state = begin
  const underWay = new Set<Step>()
  const settle = (step: Step, former: RequestState): void => {
    underWay.delete(step)
    const now = [...underWay].reduce(tried, recorded)
    // Until version 0.2 a message that was not recorded took back those that had come after it as well, or left others there.
    state = sorted(now) === sorted(former) || patched('each message stands for itself') ? now : former
  }
  const enter = async (step: Step, write: () => Promise<Decided>): Promise<Decided> => {
    const before = state
    state = step(before)
    underWay.add(step)
    try {
      const outcome = await write()
      recorded = toldBy(recorded, step, outcome.status)
      settle(step, state)
      setCurrentDetails(describe(state))
      return outcome
    } catch (error) {
      settle(step, before)
      throw error
    }
  }
  return { now: () => state, enter }
}
