// The run of an order as version 0.1 had it, word for word but for the paths: upgrade.test.ts begins runs with it.
import { condition, continueAsNew, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow'
import { records, signing } from '../../../workflows/activities.ts'
import { chunksOf, fewAtOnce } from '../../../workflows/chunks.ts'
import { requestsChanged } from '../../../workflows/messages.ts'
import { mustBeRun } from '../../../workflows/own-run.ts'
import type { OrderStatus } from '../../../domain/enums.ts'

/** The longest time without a look at the records, should a message have been lost. */
const lookAgainAfterMs = 6 * 60 * 60 * 1000

/** A longer history goes on as a new run, which begins with a look at all records: nothing has to be carried over. */
const longestHistory = 2000

/** The requests that a message names; one of another shape, or that is not sealed by our keys, names none. */
const named = (told: unknown): string[] => (Array.isArray(told) ? told.filter(id => typeof id === 'string') : [])

/** Runs an order to its end: an item ends with its certificate, its failure, a refusal of the approvers, or the deadline. */
export async function orderCertificates(orderId: string): Promise<OrderStatus> {
  mustBeRun(orderId)
  let changed: string[] = []
  setHandler(requestsChanged, told => void changed.push(...named(told)))

  const { itemCount, expiresAt } = await records.beginOrder({ orderId })
  let issued = 0
  const issue = async (positions: number[]): Promise<number> => {
    const done = await signing.issueOrderItems({ orderId, from: positions[0] ?? 0, to: positions.at(-1) ?? 0 })
    issued += done.issued
    setCurrentDetails(`${issued} of ${itemCount} issued`)
    return done.waiting
  }
  const positions = Array.from({ length: itemCount }, (_, position) => position)
  const pass = async (): Promise<number> =>
    (await fewAtOnce(chunksOf(positions), issue)).reduce((sum, waiting) => sum + waiting, 0)

  let waiting = await pass()
  while (waiting > 0) {
    const leftMs = Date.parse(expiresAt) - Date.now()
    if (leftMs <= 0) break
    if (workflowInfo().historyLength > longestHistory) await continueAsNew<typeof orderCertificates>(orderId)
    setCurrentDetails(`${issued} of ${itemCount} issued, ${waiting} wait for a decision`)
    const told = await condition(() => changed.length > 0, Math.min(leftMs, lookAgainAfterMs))
    const ids = changed
    changed = []
    if (!told) waiting = await pass()
    else {
      const done = await signing.issueDecided({ orderId, certRequestIds: ids })
      issued += done.issued
      waiting = done.waiting
    }
  }
  const { status } = await records.closeOrder({ orderId })
  setCurrentDetails(`${status}: ${issued} of ${itemCount} issued`)
  return status
}
