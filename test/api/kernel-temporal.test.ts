import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { WorkflowNotFoundError } from '@temporalio/client'
import { defineSignal, defineUpdate } from '@temporalio/workflow'
import { connectTemporal, PENDING, type Temporal } from '../../api/kernel/temporal.ts'
import { stack } from '../support/stack.ts'

const change = defineUpdate<string, [string]>('change')
const nudge = defineSignal<[string]>('nudge')
// Nobody listens to this task queue: runs stay open until they are ended here.
const at = (address: string) => connectTemporal({ address, namespace: 'default', taskQueue: `nobody-${randomUUID()}` })

let temporal: Temporal
const ids: string[] = []
const newId = (): string => {
  const id = `kernel/${randomUUID()}`
  ids.push(id)
  return id
}
beforeAll(() => {
  temporal = at(stack.temporalAddress())
})
afterAll(async () => {
  await Promise.allSettled(ids.map(id => temporal.client.workflow.getHandle(id).terminate()))
  await temporal.close()
})

test('starting twice joins the running one, or is refused where that is asked for', async () => {
  const id = newId()
  await temporal.check(10)
  await temporal.start('none', { id, args: [], summary: 'a test' })
  await temporal.start('none', { id, args: [] })
  await expect(temporal.start('none', { id, args: [], ifRunning: 'REFUSE' })).rejects.toMatchObject({
    code: 'INVALID_STATE',
  })
})

test('a wait ends at its deadline and the workflow goes on', async () => {
  const id = newId()
  expect(await temporal.execute('none', { id, args: [] }, 0.5)).toBe(PENDING)
  expect((await temporal.client.workflow.getHandle(id).describe()).status.name).toBe('RUNNING')
})

test('a closed run is kept where that is asked for, else it runs again', async () => {
  const id = newId()
  const handle = temporal.client.workflow.getHandle(id)
  await temporal.start('none', { id, args: [] })
  await handle.terminate()
  await temporal.start('none', { id, args: [], ifClosed: 'KEEP' })
  expect((await handle.describe()).status.name).toBe('TERMINATED')
  await temporal.start('none', { id, args: [] })
  expect((await handle.describe()).status.name).toBe('RUNNING')
})

test('messages to a run that is not there are told as such', async () => {
  const id = newId()
  expect(await temporal.signal(id, nudge, 'a')).toBe(false)
  expect(await temporal.update(id, change, { args: ['a'] })).toBeUndefined()
})

test('messages to a running one', async () => {
  const id = newId()
  await temporal.start('none', { id, args: [] })
  expect(await temporal.signal(id, nudge, 'a')).toBe(true)
  expect(await temporal.update(id, change, { args: ['a'], seconds: 0.5 })).toBe(PENDING)
})

/** Whether a run is there; a call whose deadline passed on a slow machine may not have reached the server. */
const isRunning = async (id: string): Promise<boolean> => {
  try {
    return (await temporal.client.workflow.getHandle(id).describe()).status.name === 'RUNNING'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

test('an update starts the workflow that it is for, once', async () => {
  const id = newId()
  const start = { id, args: [] as [] }
  for (let calls = 0; calls < 60 && !(await isRunning(id)); calls += 1)
    expect(await temporal.updateWithStart(change, { args: ['a'], workflow: 'none', start, seconds: 1 })).toBe(PENDING)
  expect(await isRunning(id)).toBe(true)
})

test('a server that cannot be reached fails the check, not the start of the API', async () => {
  const lost = at('127.0.0.1:1')
  await expect(lost.check(0.2)).rejects.toThrow()
  await lost.close()
})
