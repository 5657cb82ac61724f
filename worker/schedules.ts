// The schedules of the service: made at every start, changed when they differ.
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy, type Client, type ScheduleOptions } from '@temporalio/client'
import {
  expiryRun,
  oldRecordsRun,
  reconcileRun,
  reminderRun,
  renewCrlsRun,
  renewOcspSignersRun,
} from '../workflows/schedule-starts.ts'
import { startOptions, type Start } from '../workflows/starts.ts'
import { registerSearchAttributes } from './search-attributes.ts'

/** A run that begins again and again. */
export interface Recurring {
  readonly run: Start
  readonly everyMinutes: number
  /** So long a run may take before it is ended, for the next to begin. */
  readonly atMostMinutes: number
}

/** What runs by schedule; the schedule's id is that of the run. */
export const recurring: readonly Recurring[] = [
  { run: reconcileRun, everyMinutes: 1, atMostMinutes: 5 },
  // A list follows its revocation within 60 s (contract 10.2) also where nobody but this schedule asks for it.
  { run: renewCrlsRun, everyMinutes: 1 / 3, atMostMinutes: 1 },
  // A signer lives for another month then; after an upgrade the first ones are made so.
  { run: renewOcspSignersRun, everyMinutes: 1, atMostMinutes: 5 },
  // Four times within the hour of contract 4.3: a run that comes late, or after an outage, is still in time.
  { run: expiryRun, everyMinutes: 15, atMostMinutes: 45 },
  { run: oldRecordsRun, everyMinutes: 24 * 60, atMostMinutes: 60 },
  { run: reminderRun, everyMinutes: 24 * 60, atMostMinutes: 12 * 60 },
]

const scheduleOf = ({ run, everyMinutes, atMostMinutes }: Recurring, taskQueue: string): ScheduleOptions => ({
  scheduleId: run.id,
  spec: { intervals: [{ every: `${Math.round(everyMinutes * 60)} seconds` }] },
  action: {
    type: 'startWorkflow',
    workflowType: run.workflow,
    ...startOptions(run, taskQueue),
    workflowExecutionTimeout: `${atMostMinutes} minutes`,
  },
  policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: `${Math.max(1, everyMinutes)} minutes` },
})

const change =
  ({ spec, action, policies }: ScheduleOptions) =>
  (previous: object) =>
    ({ ...previous, spec, action, policies }) as never

/** Makes a schedule and answers whether it is new. */
const make = async (client: Client, schedule: ScheduleOptions): Promise<boolean> => {
  try {
    await client.schedule.create(schedule)
    return true
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error
    return false
  }
}

const install = async (client: Client, schedule: ScheduleOptions): Promise<void> => {
  if (await make(client, schedule)) return
  await client.schedule.getHandle(schedule.scheduleId).update(change(schedule))
}

/** Brings the schedules to what this version wants; every worker may do so at once. */
export const installSchedules = async (client: Client, taskQueue: string): Promise<void> => {
  for (const one of recurring) await install(client, scheduleOf(one, taskQueue))
}

/** Makes the schedules that Temporal does not list, and answers which it did not have; those that are there stay as they are. */
export const restoreSchedules = async (client: Client, taskQueue: string): Promise<readonly string[]> => {
  const listed = new Set<string>()
  for await (const { scheduleId } of client.schedule.list()) listed.add(scheduleId)
  const missing = recurring.filter(({ run }) => !listed.has(run.id))
  if (missing.length === 0) return []
  await registerSearchAttributes(client, client.options.namespace)
  const restored: string[] = []
  for (const one of missing) if (await make(client, scheduleOf(one, taskQueue))) restored.push(one.run.id)
  return restored
}
