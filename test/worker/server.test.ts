// What a worker makes on a Temporal server before it works there.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Client, Connection, ScheduleOverlapPolicy } from '@temporalio/client'
import { searchAttributes } from '../../workflows/messages.ts'
import { keepSchedules } from '../../worker/kept-schedules.ts'
import { installSchedules, recurring } from '../../worker/schedules.ts'
import { registerSearchAttributes } from '../../worker/search-attributes.ts'
import { until } from '../support/issuing.ts'
import { stack } from '../support/stack.ts'

let connection: Connection

beforeAll(async () => {
  connection = await Connection.connect({ address: stack.temporalAddress() })
})
afterAll(() => connection.close())

/** A namespace that nobody has prepared. */
const emptyServer = async (): Promise<Client> => {
  const namespace = `empty-${randomUUID()}`
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  })
  // A server learns of a new namespace within seconds.
  await until('the namespace is known', () =>
    connection.operatorService.listSearchAttributes({ namespace }).catch(() => false as const),
  )
  return new Client({ connection, namespace })
}
const attributesOf = async ({ options: { namespace } }: Client): Promise<string[]> => {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
  return Object.keys(customAttributes).toSorted()
}
const ours = Object.values(searchAttributes).map(({ name }) => name)

test('the search attributes are registered on an empty server, and a second time changes nothing', async () => {
  const client = await emptyServer()
  const before = await attributesOf(client)
  for (const name of ours) expect(before).not.toContain(name)
  await registerSearchAttributes(client, client.options.namespace)
  const after = await attributesOf(client)
  expect(after).toEqual(expect.arrayContaining(ours))
  await registerSearchAttributes(client, client.options.namespace)
  expect(await attributesOf(client)).toEqual(after)
})

test('workers that start at the same time all find the search attributes', async () => {
  const client = await emptyServer()
  await Promise.all([1, 2, 3, 4].map(() => registerSearchAttributes(client, client.options.namespace)))
  expect(await attributesOf(client)).toEqual(expect.arrayContaining(ours))
})

const schedulesOf = async (client: Client): Promise<string[]> => {
  const ids: string[] = []
  for await (const { scheduleId } of client.schedule.list()) ids.push(scheduleId)
  return ids
}
const preparedServer = async (): Promise<Client> => {
  const client = await emptyServer()
  await registerSearchAttributes(client, client.options.namespace)
  return client
}
const describe = (client: Client) => client.schedule.getHandle('reconcile').describe()

test('the schedule of the reconciler is made, and a second installation changes nothing', async () => {
  const client = await preparedServer()
  await installSchedules(client, 'queue')
  const first = await describe(client)
  expect(first.spec.intervals).toMatchObject([{ every: 60_000 }])
  expect(first.action).toMatchObject({ type: 'startWorkflow', workflowType: 'reconcile', taskQueue: 'queue' })
  expect(first.action).toMatchObject({ workflowExecutionTimeout: 300_000 })
  expect(first.policies.overlap).toBe(ScheduleOverlapPolicy.BUFFER_ONE)
  await installSchedules(client, 'queue')
  const second = await describe(client)
  expect([second.spec, second.action, second.policies]).toEqual([first.spec, first.action, first.policies])
  await until('the schedule is listed', async () => (await schedulesOf(client)).length >= recurring.length)
  expect((await schedulesOf(client)).toSorted()).toEqual(recurring.map(({ run }) => run.id).toSorted())
})

test('expiries are recorded four times an hour', async () => {
  const client = await preparedServer()
  await installSchedules(client, 'queue')
  const { spec, action } = await client.schedule.getHandle('expiry').describe()
  expect(spec.intervals).toMatchObject([{ every: 900_000 }])
  expect(action).toMatchObject({ type: 'startWorkflow', workflowType: 'recordExpiries', taskQueue: 'queue' })
  expect(action).toMatchObject({ workflowExecutionTimeout: 2_700_000 })
})

test('workers that start at the same time all install the schedule', async () => {
  const client = await preparedServer()
  await Promise.all([1, 2, 3, 4].map(() => installSchedules(client, 'queue')))
  expect((await describe(client)).spec.intervals).toMatchObject([{ every: 60_000 }])
})

test('a schedule of an earlier version is brought up to date, and stays paused when it was', async () => {
  const client = await preparedServer()
  const handle = await client.schedule.create({
    scheduleId: 'reconcile',
    spec: { intervals: [{ every: '1 hour' }] },
    action: { type: 'startWorkflow', workflowType: 'old', taskQueue: 'elsewhere', args: [] },
    policies: { overlap: ScheduleOverlapPolicy.SKIP },
  })
  await handle.pause('during the move')
  await installSchedules(client, 'queue')
  const now = await describe(client)
  expect(now.spec.intervals).toMatchObject([{ every: 60_000 }])
  expect(now.action).toMatchObject({ workflowType: 'reconcile', taskQueue: 'queue' })
  expect(now.policies.overlap).toBe(ScheduleOverlapPolicy.BUFFER_ONE)
  expect(now.state).toMatchObject({ paused: true, note: 'during the move' })
})

test('a worker makes schedules again that the server has lost, and leaves the others alone', async () => {
  const client = await emptyServer()
  const told: string[] = []
  const warn = (text: string): void => void told.push(text)
  const schedules = await keepSchedules({ client, taskQueue: 'queue', warn, everyMs: 50 })
  try {
    expect(await attributesOf(client)).toEqual(expect.arrayContaining(ours))
    await until('all are listed', async () => (await schedulesOf(client)).length === recurring.length)
    await client.schedule.getHandle('expiry').pause('during the move')
    await client.schedule.getHandle('reconcile').delete()
    await until('it is told', async () => told.length > 0)
    expect((await describe(client)).spec.intervals).toMatchObject([{ every: 60_000 }])
    expect((await client.schedule.getHandle('expiry').describe()).state).toMatchObject({ paused: true })
    expect(told).toEqual(['Temporal had no schedule reconcile any more: made again'])
  } finally {
    await schedules.stop()
  }
})

test('that the schedules cannot be seen is told once, until they are seen again', async () => {
  const client = await emptyServer()
  const told: string[] = []
  const warn = (text: string): void => void told.push(text)
  const schedules = await keepSchedules({ client, taskQueue: 'queue', warn, everyMs: 20 })
  const seen = client.schedule.list.bind(client.schedule)
  let looks = 0
  client.schedule.list = () => {
    looks += 1
    throw new Error('nobody answers')
  }
  await until('it has looked often', async () => looks > 3)
  expect(told).toEqual(['whether Temporal has the schedules cannot be seen'])
  client.schedule.list = seen
  await schedules.stop()
})
