// The schedules of the service: made at every start, changed when they differ.
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client, type ScheduleOptions } from '@temporalio/client'
import { searchAttributes } from '../workflows/messages.ts'

const schedules = (taskQueue: string): ScheduleOptions[] => [
  {
    scheduleId: 'reconcile',
    spec: { intervals: [{ every: '1 minute' }] },
    action: {
      type: 'startWorkflow',
      workflowType: 'reconcile',
      workflowId: 'reconcile',
      taskQueue,
      args: [],
      workflowExecutionTimeout: '5 minutes',
      staticSummary: 'start what a crash left behind',
      typedSearchAttributes: [{ key: searchAttributes.kind, value: 'RECONCILE' }],
    },
    policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: '1 minute' },
  },
]

const change =
  ({ spec, action, policies }: ScheduleOptions) =>
  (previous: object) =>
    ({ ...previous, spec, action, policies }) as never

const install = async (client: Client, schedule: ScheduleOptions): Promise<void> => {
  try {
    await client.schedule.create(schedule)
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error
    await client.schedule.getHandle(schedule.scheduleId).update(change(schedule))
  }
}

/** Brings the schedules to what this version wants; every worker may do so at once. */
export const installSchedules = async (client: Client, taskQueue: string): Promise<void> => {
  for (const schedule of schedules(taskQueue)) await install(client, schedule)
}
