// The schedules of the service: made at every start, changed when they differ.
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client, type ScheduleOptions } from '@temporalio/client'
import { reconcileRun, renewCrlsRun, startOptions } from '../workflows/starts.ts'

const schedules = (taskQueue: string): ScheduleOptions[] => [
  {
    scheduleId: 'reconcile',
    spec: { intervals: [{ every: '1 minute' }] },
    action: {
      type: 'startWorkflow',
      workflowType: reconcileRun.workflow,
      ...startOptions(reconcileRun, taskQueue),
      workflowExecutionTimeout: '5 minutes',
    },
    policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: '1 minute' },
  },
  {
    scheduleId: 'renew-crls',
    // A list follows its revocation within 60 s (contract 10.2) also where nobody but this schedule asks for it.
    spec: { intervals: [{ every: '20 seconds' }] },
    action: {
      type: 'startWorkflow',
      workflowType: renewCrlsRun.workflow,
      ...startOptions(renewCrlsRun, taskQueue),
      workflowExecutionTimeout: '1 minute',
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
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
