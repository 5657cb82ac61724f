// The schedules: whether each is there, unpaused, for our worker, and has run when it should.
import { ScheduleNotFoundError, type ScheduleDescription } from '@temporalio/client'
import { recurring, type Recurring } from '../../worker/schedules.ts'
import { failed, ok, warning, type Check, type Finding } from '../check.ts'
import type { TemporalPlace } from './temporal.ts'

const installAdvice = 'Start a worker: it makes the schedules, or brings them up to date.'

/** The part of a description that is judged. */
export type Told = Pick<ScheduleDescription, 'action' | 'info' | 'state' | 'scheduleId'>

const lastRun = ({ recentActions, createdAt }: Told['info']): { at: Date; ran: boolean } => {
  const at = recentActions.at(-1)?.takenAt
  return at ? { at, ran: true } : { at: createdAt, ran: false }
}

/** What the description of a schedule tells. */
export const scheduleFinding = (
  { action, info, state, scheduleId }: Told,
  { everyMinutes, taskQueue, now }: { everyMinutes: number; taskQueue: string; now: Date },
): Finding => {
  const queue = action.type === 'startWorkflow' ? action.taskQueue : 'unknown'
  if (queue !== taskQueue)
    return failed(`it starts runs on the task queue ${queue}, not on ${taskQueue}`, installAdvice)
  if (state.paused) return warning('it is paused', `temporal schedule toggle --unpause -s ${scheduleId}`)
  const { at, ran } = lastRun(info)
  const told = ran ? `last run ${at.toISOString()}` : 'made and not due yet'
  if (now.getTime() - at.getTime() <= 3 * everyMinutes * 60_000) return ok(`every ${everyMinutes} min, ${told}`)
  return failed(
    `every ${everyMinutes} min, but ${told}`,
    `temporal schedule describe -s ${scheduleId}; is Temporal in trouble?`,
  )
}

const checkOf = ({ client, taskQueue }: TemporalPlace, { run, everyMinutes }: Recurring): Check => ({
  name: `schedule ${run.id}`,
  after: 'namespace',
  advice: installAdvice,
  look: async () => {
    try {
      const description = await (await client()).schedule.getHandle(run.id).describe()
      return scheduleFinding(description, { everyMinutes, taskQueue, now: new Date() })
    } catch (error) {
      if (error instanceof ScheduleNotFoundError) return failed('it is not there', installAdvice)
      throw error
    }
  },
})

/** A check of every schedule of this version. */
export const scheduleChecks = (place: TemporalPlace): readonly Check[] => recurring.map(one => checkOf(place, one))
