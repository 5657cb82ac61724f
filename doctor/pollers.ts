// Who asks for work on a task queue.
import type { Client } from '@temporalio/client'
import proto from '@temporalio/proto'

/** A worker as Temporal saw it last. */
export interface Poller {
  readonly identity: string
  /** The build that it says it is; empty where it says none. */
  readonly build: string
  /** By the clock of Temporal. */
  readonly lastAccess: Date
}

interface Queue {
  readonly client: () => Promise<Client>
  readonly namespace: string
  readonly taskQueue: string
}

/** Who asked for workflow tasks in the last minutes. */
export const pollersOf = async ({ client, namespace, taskQueue }: Queue): Promise<Poller[]> => {
  const { pollers } = await (
    await client()
  ).connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  })
  return pollers.map(({ identity, lastAccessTime, deploymentOptions, workerVersionCapabilities }) => ({
    identity: identity ?? 'somebody',
    build: deploymentOptions?.buildId || workerVersionCapabilities?.buildId || '',
    lastAccess: new Date(Number(lastAccessTime?.seconds ?? 0) * 1000 + (lastAccessTime?.nanos ?? 0) / 1e6),
  }))
}
