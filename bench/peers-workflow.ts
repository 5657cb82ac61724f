// The least that Temporal can do: a workflow that calls one activity, which does nothing. For bench/peers.ts.
import { proxyActivities } from '@temporalio/workflow'

const { nothing } = proxyActivities<{ nothing: () => Promise<void> }>({ startToCloseTimeout: '1 minute' })

/** Calls the activity and ends. */
export const empty = (): Promise<void> => nothing()
