// Attempts at activities that a test looks at, and gives up in the name of a worker that it has killed.
import type { Client } from '@temporalio/client'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { temporalNamespace } from '../../embedded/servers/temporal.ts'

/** PENDING_ACTIVITY_STATE_STARTED: an attempt is under way, or was when its worker died. */
export const attemptStarted = 2

const pendingOf = async (client: Client, workflowId: string) =>
  (await client.workflow.getHandle(workflowId).describe()).raw.pendingActivities ?? []

/**
 * Tells Temporal at once what it would find out within a minute without heartbeats: that the attempts of this run by a
 * worker that is dead have failed. They begin anew without the pauses that grow from death to death. An attempt that is
 * due is left alone: whoever asks again and again would put it off each time.
 */
export const giveUpAttempts = async (client: Client, workflowId: string, { pid }: RunningProcess): Promise<void> => {
  const execution = { workflowId }
  for (const { activityId, state, lastWorkerIdentity, scheduledTime } of await pendingOf(client, workflowId)) {
    const isDue = Number(state) !== attemptStarted && Number(scheduledTime?.seconds ?? 0) * 1000 <= Date.now()
    if (isDue || !lastWorkerIdentity?.startsWith(`${pid}@`)) continue
    const activity = { namespace: temporalNamespace, workflowId, activityId: activityId ?? '' }
    const failure = { message: 'The worker was killed.', applicationFailureInfo: { type: 'KILLED' } }
    // Either may come too late: the attempt has ended, or the activity has.
    if (Number(state) === attemptStarted)
      await client.workflowService.respondActivityTaskFailedById({ ...activity, failure }).catch(() => {})
    await client.workflowService
      .resetActivity({ namespace: temporalNamespace, execution, id: activity.activityId })
      .catch(() => {})
  }
}

/** The worker at an activity of a run right now. */
export const workerOf = async <T extends Pick<RunningProcess, 'pid'>>(
  client: Client,
  workflowId: string,
  workers: readonly T[],
): Promise<T | undefined> => {
  const begun = (await pendingOf(client, workflowId)).filter(({ state }) => Number(state) === attemptStarted)
  return workers.find(({ pid }) => begun.some(one => one.lastWorkerIdentity?.startsWith(`${pid}@`)))
}
