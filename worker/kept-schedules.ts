// Keeps the schedules as long as a worker lives: a Temporal server that has lost its data gets them back without a restart,
// and with them the reconciler, which starts everything else.
import { setInterval } from 'node:timers/promises'
import type { Client } from '@temporalio/client'
import { installSchedules, restoreSchedules } from './schedules.ts'
import { registerSearchAttributes } from './search-attributes.ts'

const everyMs = 60_000

/** So long a look may take: a worker that is asked to end waits for it. */
const patienceMs = 10_000

/** Where the schedules are kept, and who hears of it. */
export interface Keeping {
  readonly client: Client
  readonly taskQueue: string
  readonly warn: (text: string, error?: unknown) => void
  /** The pause between two looks. */
  readonly everyMs?: number
}

/** One look: what is missing is made, and an error is told once as long as it lasts. */
const looking = ({ client, taskQueue, warn }: Keeping) => {
  let failing = false
  return async (): Promise<void> => {
    try {
      const restored = await client.withDeadline(Date.now() + patienceMs, () => restoreSchedules(client, taskQueue))
      if (restored.length > 0) warn(`Temporal had no schedule ${restored.join(', ')} any more: made again`)
      failing = false
    } catch (error) {
      if (!failing) warn('whether Temporal has the schedules cannot be seen', error)
      failing = true
    }
  }
}

/** Brings search attributes and schedules to what this version wants, then keeps the schedules until `stop()`. */
export const keepSchedules = async (keeping: Keeping): Promise<{ readonly stop: () => Promise<void> }> => {
  const { client, taskQueue } = keeping
  await registerSearchAttributes(client, client.options.namespace)
  await installSchedules(client, taskQueue)
  const over = new AbortController()
  const look = looking(keeping)
  const keep = async (): Promise<void> => {
    for await (const _ of setInterval(keeping.everyMs ?? everyMs, undefined, { signal: over.signal })) await look()
  }
  // Ends by being stopped alone.
  const kept = keep().catch(() => {})
  return {
    stop: async () => {
      over.abort()
      await kept
    },
  }
}
