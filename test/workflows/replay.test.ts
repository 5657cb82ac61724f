// Runs that began under an earlier version of the code must go on under this one.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Worker } from '@temporalio/worker'
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js'
import { DeterminismViolationError } from '@temporalio/workflow'
import * as workflows from '../../workflows/index.ts'
import { stack } from '../support/stack.ts'
import { historyFromText, type History } from './history-json.ts'
import { dataConverter, quiet } from './rig.ts'

const folder = join(import.meta.dirname, 'histories')
const read = (file: string): History => historyFromText(readFileSync(join(folder, file), 'utf8'))
const files = readdirSync(folder).filter(name => name.endsWith('.json'))
const startOf = ({ events }: History) => events?.[0]?.workflowExecutionStartedEventAttributes

beforeAll(quiet)
// A replay hooks into every promise of the process and stays there: the next test file of this process would fail by it.
afterAll(() => {
  globalHandlers.uninstall()
})

const replay = (history: History) =>
  Worker.runReplayHistory(
    { workflowBundle: { codePath: stack.workflowBundle() }, dataConverter },
    history,
    startOf(history)?.workflowId ?? 'unknown',
  )

test('every workflow type has a recorded history', () => {
  const recorded = new Set(files.map(file => startOf(read(file))?.workflowType?.name))
  expect(Object.keys(workflows).filter(type => !recorded.has(type))).toEqual([])
  expect(Object.keys(workflows).length).toBeGreaterThan(0)
})

test.each(files)('the history %s can be replayed', async file => {
  await replay(read(file))
})

test('a history that another code wrote is noticed', async () => {
  const history = read(files.find(file => file.startsWith('orderCertificates')) ?? '')
  const scheduled = history.events?.find(event => event.activityTaskScheduledEventAttributes)
  Object.assign(scheduled?.activityTaskScheduledEventAttributes?.activityType ?? {}, { name: 'anotherActivity' })
  await expect(replay(history)).rejects.toBeInstanceOf(DeterminismViolationError)
})
