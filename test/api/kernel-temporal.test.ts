// The kernel's Temporal client: starting, waiting, messages and updates.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client'
import { defineUpdate } from '@temporalio/workflow'
import { connectTemporal, PENDING, type Temporal } from '../../api/kernel/temporal.ts'
import { stack } from '../support/stack.ts'

const change = defineUpdate<string, [string]>('change')
// Nobody listens to this task queue: runs stay open until they are ended here.
const at = (address: string) => connectTemporal({ address, namespace: 'default', taskQueue: `nobody-${randomUUID()}` })

let temporal: Temporal
let operator: Client
const ids: string[] = []
const newId = (): string => {
  const id = `kernel/${randomUUID()}`
  ids.push(id)
  return id
}
const startOf = (id: string) => ({ workflow: 'none', id, args: [] as [], summary: 'a test', attributes: [] })

beforeAll(async () => {
  temporal = at(stack.temporalAddress())
  operator = new Client({ connection: await Connection.connect({ address: stack.temporalAddress() }) })
})
afterAll(async () => {
  await Promise.allSettled(ids.map(id => operator.workflow.getHandle(id).terminate()))
  await temporal.close()
  await operator.connection.close()
})

test('starting twice joins the running one', async () => {
  const id = newId()
  await temporal.check(10)
  await temporal.start(startOf(id))
  const { runId } = await operator.workflow.getHandle(id).describe()
  await temporal.start(startOf(id))
  expect((await operator.workflow.getHandle(id).describe()).runId).toBe(runId)
})

test('a wait ends at its deadline and the workflow goes on', async () => {
  const id = newId()
  expect(await temporal.run(startOf(id), 0.5)).toBe(PENDING)
  expect((await operator.workflow.getHandle(id).describe()).status.name).toBe('RUNNING')
})

test('a closed run runs again', async () => {
  const id = newId()
  const handle = operator.workflow.getHandle(id)
  await temporal.start(startOf(id))
  await handle.terminate()
  expect((await handle.describe()).status.name).toBe('TERMINATED')
  await temporal.start(startOf(id))
  expect((await handle.describe()).status.name).toBe('RUNNING')
})

/** Whether a run is there; a call whose deadline passed on a slow machine may not have reached the server. */
const isRunning = async (id: string): Promise<boolean> => {
  try {
    return (await operator.workflow.getHandle(id).describe()).status.name === 'RUNNING'
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false
    throw error
  }
}

test('an update starts the workflow that it is for, once', async () => {
  const id = newId()
  for (let calls = 0; calls < 60 && !(await isRunning(id)); calls += 1)
    expect(await temporal.updateWithStart(change, { args: ['a'], start: startOf(id), seconds: 1 })).toBe(PENDING)
  expect(await isRunning(id)).toBe(true)
})

describe('a server that cannot be reached', () => {
  let lost: Temporal
  beforeAll(() => void (lost = at('127.0.0.1:1')))
  afterAll(() => lost.close())

  test('fails the check, not the start of the API', async () => {
    await expect(lost.check(0.2)).rejects.toThrow()
  })

  test('is SERVICE_UNAVAILABLE to who has to start a run, and nothing to who need not', async () => {
    await expect(lost.start(startOf(newId()))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    await lost.startSoon(startOf(newId()))
  })

  test('is PENDING to who waits for the answer of a run', async () => {
    expect(await lost.updateWithStart(change, { args: ['a'], start: startOf(newId()), seconds: 1 })).toBe(PENDING)
    expect(await lost.wait(newId(), 1)).toBe(PENDING)
  })
})
