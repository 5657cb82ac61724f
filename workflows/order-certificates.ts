// An asynchronous order: issues what may be issued, waits for the rest, and never forgets an item.
import { condition, continueAsNew, patched, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow'
import { records, signing } from './activities.ts'
import { chunksOf, fewAtOnce } from './chunks.ts'
import { requestsChanged } from './messages.ts'
import { mustBeRun } from './own-run.ts'
import { tellState } from './run-state.ts'
import type { OrderStatus } from '../domain/enums.ts'
import { storyOf, type OrderedRequest } from '../domain/order-story.ts'

/** The longest time without a look at the records, should a message have been lost. */
const lookAgainAfterMs = 6 * 60 * 60 * 1000

/** A longer history goes on as a new run, which begins with a look at all records: nothing has to be carried over. */
const longestHistory = 2000

/** The requests that a message names; one of another shape, or that is not sealed by our keys, names none. */
const named = (told: unknown): string[] => (Array.isArray(told) ? told.filter(id => typeof id === 'string') : [])

/** What operators read of an order: its numbers, and of a small one that waits or has waited the way of each request. */
const tell = (numbers: string, story: readonly OrderedRequest[] = []): void =>
  setCurrentDetails([numbers, ...(story.length > 0 ? [storyOf(story)] : [])].join('\n\n'))

/** Closes the order; the state and the story of one that waited are told. */
const close = async (orderId: string, waited: boolean) => {
  const closed = await records.closeOrder(waited ? { orderId, waited } : { orderId })
  if (waited) tellState(closed.status)
  return closed
}

/** Runs an order to its end: an item ends with its certificate, its failure, a refusal of the approvers, or the deadline. */
export async function orderCertificates(orderId: string): Promise<OrderStatus> {
  mustBeRun(orderId)
  let changed: string[] = []
  setHandler(requestsChanged, told => void changed.push(...named(told)))

  const { itemCount, expiresAt } = await records.beginOrder({ orderId })
  let [issued, story] = [0, undefined as OrderedRequest[] | undefined]
  const issue = async (positions: number[]): Promise<number> => {
    const done = await signing.issueOrderItems({ orderId, from: positions[0] ?? 0, to: positions.at(-1) ?? 0 })
    issued += done.issued
    story = done.story ?? story
    tell(`${issued} of ${itemCount} issued`)
    return done.waiting
  }
  const positions = Array.from({ length: itemCount }, (_, position) => position)
  const pass = async (): Promise<number> =>
    (await fewAtOnce(chunksOf(positions), issue)).reduce((sum, waiting) => sum + waiting, 0)

  let waiting = await pass()
  // Orders that began to wait under version 0.1 go on without a state to be found by.
  const isFound = waiting > 0 && patched('waiting orders have a state')
  if (isFound) tellState('WAITING')
  while (waiting > 0) {
    const leftMs = Date.parse(expiresAt) - Date.now()
    if (leftMs <= 0) break
    if (workflowInfo().historyLength > longestHistory) await continueAsNew<typeof orderCertificates>(orderId)
    tell(`${issued} of ${itemCount} issued, ${waiting} wait for a decision`, story)
    const told = await condition(() => changed.length > 0, Math.min(leftMs, lookAgainAfterMs))
    const ids = changed
    changed = []
    if (!told) waiting = await pass()
    else {
      const done = await signing.issueDecided({ orderId, certRequestIds: ids })
      issued += done.issued
      waiting = done.waiting
      story = done.story
    }
  }
  const closed = await close(orderId, isFound)
  tell(`${closed.status}: ${issued} of ${itemCount} issued`, closed.story)
  return closed.status
}
