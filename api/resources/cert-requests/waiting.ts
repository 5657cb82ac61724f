// Starting the runs of requests that wait for a decision.
import { isWaiting } from '../../../domain/lifecycle.ts'
import type { Settings } from '../../../storage/settings.ts'
import { certRequestRun } from '../../../workflows/starts.ts'
import type { Temporal } from '../../kernel/temporal.ts'

/** More runs than this are left to the reconciler, so that a large call answers soon; approving needs no run. */
const startedAtOnce = 100

type Waiting = Parameters<typeof certRequestRun>[0]

/** Starts the runs of those that wait. */
export const startWaiting = async (
  temporal: Temporal,
  settings: Settings,
  requests: readonly Waiting[],
): Promise<void> => {
  const waiting = requests.filter(({ state }) => isWaiting(state.status)).slice(0, startedAtOnce)
  const waitDays = await settings.integer('order.max-wait-days')
  await Promise.all(waiting.map(request => temporal.start(certRequestRun(request, waitDays))))
}
