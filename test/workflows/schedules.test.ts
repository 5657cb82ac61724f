// Runs of a schedule are handed the result of the run before, which was sealed for that one: each of them works none the less.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ScheduleOverlapPolicy, type ScheduleHandle } from '@temporalio/client'
import { reconcileRun } from '../../workflows/schedule-starts.ts'
import { startOptions } from '../../workflows/starts.ts'
import { until } from '../support/issuing.ts'
import { startService, type Service } from '../support/service.ts'

let service: Service

beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const runIdsOf = async (schedule: ScheduleHandle): Promise<string[]> =>
  (await schedule.describe()).info.recentActions.map(({ action }) => action.workflow.workflowId)

/** Whether Temporal has handed a run the result of the one before. */
const hasFormerResult = async (id: string): Promise<boolean> => {
  const { events } = await service.client.workflow.getHandle(id).fetchHistory()
  return events?.[0]?.workflowExecutionStartedEventAttributes?.lastCompletionResult != null
}

test('each run of a schedule ends as the first did', async () => {
  const scheduleId = `again-${randomUUID()}`
  const action = {
    type: 'startWorkflow' as const,
    workflowType: reconcileRun.workflow,
    ...startOptions(reconcileRun, service.taskQueue),
    workflowId: scheduleId,
  }
  const schedule = await service.client.schedule.create({ scheduleId, spec: {}, action })
  try {
    for (const runs of [1, 2, 3]) {
      // Runs that may overlap are handed nothing, and those that are triggered may unless we say otherwise.
      await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ALL)
      await until(`${runs} runs are completed`, async () => {
        const ids = await runIdsOf(schedule)
        const described = await Promise.all(ids.map(id => service.client.workflow.getHandle(id).describe()))
        expect(described.map(({ status }) => status.name)).not.toContain('FAILED')
        return described.filter(({ status }) => status.name === 'COMPLETED').length === runs
      })
      // The ids of its runs have the second of their start.
      await new Promise(resolve => void setTimeout(resolve, 1100))
    }
    const handed = await Promise.all((await runIdsOf(schedule)).toSorted().map(hasFormerResult))
    expect(handed).toEqual([false, true, true])
  } finally {
    await schedule.delete()
  }
})
