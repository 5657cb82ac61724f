// Issuing, ordering, providers and the reconciler as runs: what they ask of the activities, and what they answer.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { ApplicationFailure } from '@temporalio/common'
import { failureIn } from '../../api/kernel/temporal.ts'
import { issueWorkflowId, ocspWorkflowId, orderWorkflowId, providerWorkflowId } from '../../workflows/ids.ts'
import { requestsChanged } from '../../workflows/messages.ts'
import { until, type Rig } from './rig.ts'
import { useRig } from './use-rig.ts'

const { start } = useRig()

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString()
const ids = (count: number) => Array.from({ length: count }, () => randomUUID())

test('a long list is issued in chunks, two at a time, and answered in its order', async () => {
  let atOnce = 0
  let most = 0
  const { client, taskQueue, of } = await start({
    issueChunk: async ({ certRequestIds }) => {
      most = Math.max(most, ++atOnce)
      await new Promise(resolve => void setTimeout(resolve, 20))
      atOnce -= 1
      return certRequestIds.map(certRequestId => ({ certRequestId, certificateId: `of ${certRequestId}` }))
    },
  })
  const list = ids(1001)
  const workflowId = issueWorkflowId(randomUUID())
  const outcomes = await client.workflow.execute('issueCertificates', { workflowId, taskQueue, args: [list] })
  expect(outcomes).toEqual(list.map(certRequestId => ({ certRequestId, certificateId: `of ${certRequestId}` })))
  expect(of('issueChunk').map(({ input }) => input.certRequestIds.length)).toEqual([250, 250, 250, 250, 1])
  expect(of('issueChunk').every(({ input }) => input.runId === workflowId)).toBe(true)
  expect(most).toBe(2)
})

test('an empty list needs no activity', async () => {
  const { client, taskQueue, calls } = await start({})
  const workflowId = issueWorkflowId(randomUUID())
  expect(await client.workflow.execute('issueCertificates', { workflowId, taskQueue, args: [[]] })).toEqual([])
  expect(calls).toEqual([])
})

test('issuing outlives failures that pass', async () => {
  let failures = 2
  const { client, taskQueue } = await start({
    issueChunk: async ({ certRequestIds }) => {
      if (failures-- > 0) throw new Error('no connection')
      return certRequestIds.map(certRequestId => ({ certRequestId, certificateId: 'one' }))
    },
  })
  const workflowId = issueWorkflowId(randomUUID())
  const outcomes = await client.workflow.execute('issueCertificates', { workflowId, taskQueue, args: [['a']] })
  expect(outcomes).toEqual([{ certRequestId: 'a', certificateId: 'one' }])
})

const order = async ({ client, taskQueue }: Rig) => {
  const workflowId = orderWorkflowId(randomUUID())
  return client.workflow.start('orderCertificates', { workflowId, taskQueue, args: [workflowId] })
}

test('an order of ten thousand goes through its positions in parts, each once, with a short history', async () => {
  const rig = await start({
    beginOrder: async () => ({ itemCount: 10_000, expiresAt: tomorrow() }),
    issueOrderItems: async ({ from, to }) => ({ issued: to - from + 1, waiting: 0 }),
    closeOrder: async () => ({ status: 'COMPLETED' }),
  })
  const handle = await order(rig)
  expect(await handle.result()).toBe('COMPLETED')
  const parts = rig.of('issueOrderItems').map(({ input }) => [input.from, input.to])
  expect(parts.toSorted((one, other) => one[0] - other[0])).toEqual(
    Array.from({ length: 40 }, (_, part) => [part * 250, part * 250 + 249]),
  )
  const history = await handle.fetchHistory()
  expect(history.events?.length).toBeLessThan(2000)
})

test('an order that has nothing to wait for closes without a timer', async () => {
  const rig = await start({
    beginOrder: async () => ({ itemCount: 1, expiresAt: tomorrow() }),
    issueOrderItems: async () => ({ issued: 0, waiting: 0 }),
    closeOrder: async () => ({ status: 'FAILED' }),
  })
  const handle = await order(rig)
  expect(await handle.result()).toBe('FAILED')
  const { events } = await handle.fetchHistory()
  expect(events?.some(event => event.timerStartedEventAttributes)).toBe(false)
  expect(rig.calls.map(({ name }) => name)).toEqual(['beginOrder', 'issueOrderItems', 'closeOrder'])
})

test('an order past its deadline closes after one last look', async () => {
  const rig = await start({
    beginOrder: async () => ({ itemCount: 1, expiresAt: new Date(0).toISOString() }),
    issueOrderItems: async () => ({ issued: 0, waiting: 1 }),
    closeOrder: async () => ({ status: 'FAILED' }),
  })
  expect(await (await order(rig)).result()).toBe('FAILED')
  expect(rig.of('issueOrderItems')).toHaveLength(1)
})

test('decisions that come one by one are each issued, until nothing waits', async () => {
  let waiting = 3
  const rig = await start({
    beginOrder: async () => ({ itemCount: 3, expiresAt: tomorrow() }),
    issueOrderItems: async () => ({ issued: 0, waiting }),
    issueDecided: async ({ certRequestIds }) => ({
      issued: certRequestIds.length,
      waiting: (waiting -= certRequestIds.length),
    }),
    closeOrder: async () => ({ status: 'COMPLETED' }),
  })
  const handle = await order(rig)
  await until(() => rig.of('issueOrderItems').length === 1)
  const told = ['a', 'b', 'c']
  for (const id of told) await handle.signal(requestsChanged, [id])
  expect(await handle.result()).toBe('COMPLETED')
  expect(rig.of('issueDecided').flatMap(({ input }) => input.certRequestIds)).toEqual(told)
})

test('a decision that comes while the first items are issued is not lost', async () => {
  const told = Promise.withResolvers<void>()
  const rig = await start({
    beginOrder: async () => ({ itemCount: 1, expiresAt: tomorrow() }),
    issueOrderItems: async () => {
      await told.promise
      return { issued: 0, waiting: 1 }
    },
    issueDecided: async () => ({ issued: 1, waiting: 0 }),
    closeOrder: async () => ({ status: 'COMPLETED' }),
  })
  const handle = await order(rig)
  await until(() => rig.of('issueOrderItems').length === 1)
  await handle.signal(requestsChanged, ['one'])
  told.resolve()
  expect(await handle.result()).toBe('COMPLETED')
  expect(rig.of('issueOrderItems')).toHaveLength(1)
  expect(rig.of('issueDecided')).toHaveLength(1)
})

test('an order that hears very much goes on as a new run and forgets nothing', async () => {
  let issued = false
  const rig = await start({
    beginOrder: async () => ({ itemCount: 2, expiresAt: tomorrow() }),
    issueOrderItems: async () => ({ issued: 0, waiting: issued ? 0 : 1 }),
    issueDecided: async () => ({ issued: 0, waiting: 1 }),
    closeOrder: async () => ({ status: 'COMPLETED' }),
  })
  const handle = await order(rig)
  const present = rig.client.workflow.getHandle(handle.workflowId)
  await until(() => rig.of('issueOrderItems').length === 1)
  for (let sent = 0; sent < 400 && rig.of('beginOrder').length === 1; sent++) {
    await present.signal(requestsChanged, [`${sent}`])
    await until(() => rig.of('issueDecided').length > sent || rig.of('beginOrder').length > 1)
  }
  expect(rig.of('beginOrder')).toHaveLength(2)
  expect((await handle.fetchHistory()).events?.length).toBeLessThan(2500)
  await until(() => rig.of('issueOrderItems').length === 2)
  // The last message comes to the new run, whose look at all records finds the item issued.
  issued = true
  await present.signal(requestsChanged, ['last'])
  await until(() => rig.of('issueDecided').at(-1)?.input.certRequestIds.includes('last') === true)
  await present.terminate()
})

test('preparing a provider asks once and answers nothing', async () => {
  const { client, taskQueue, calls } = await start({ prepareProvider: async () => undefined })
  const id = randomUUID()
  const workflowId = providerWorkflowId('prepare', id)
  expect(await client.workflow.execute('prepareProvider', { workflowId, taskQueue, args: [id] })).toBeUndefined()
  expect(calls).toEqual([{ name: 'prepareProvider', input: { providerId: id } }])
})

test('checking a provider answers what was found', async () => {
  const found = { result: false, errorMessage: 'The CA is not made yet.', durationMs: 3 }
  const { client, taskQueue, calls } = await start({ checkProvider: async () => found })
  const id = randomUUID()
  const workflowId = providerWorkflowId('check', id)
  expect(await client.workflow.execute('checkProvider', { workflowId, taskQueue, args: [id] })).toEqual(found)
  expect(calls).toEqual([{ name: 'checkProvider', input: { providerId: id } }])
})

test('asking for an OCSP status answers what came of it, and no place at the worker is told as such', async () => {
  const found = { answer: null, problem: 'The OCSP responder http://127.0.0.1/ gave no OCSP answer.' }
  let places = 1
  const { client, taskQueue, calls } = await start({
    askOcspResponder: async () => {
      if (places-- > 0) return found
      throw ApplicationFailure.create({ message: 'Too many.', type: 'SERVICE_UNAVAILABLE' })
    },
  })
  const id = randomUUID()
  const options = { workflowId: ocspWorkflowId(id), taskQueue, args: [id] }
  expect(await client.workflow.execute('checkOcspStatus', options)).toEqual(found)
  expect(calls).toEqual([{ name: 'askOcspResponder', input: { certificateId: id } }])
  const failed: unknown = await client.workflow.execute('checkOcspStatus', options).catch((error: unknown) => error)
  expect(failureIn(failed)).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(calls).toHaveLength(3)
})

test('a check that cannot be made is given up after two attempts', async () => {
  const { client, taskQueue, calls } = await start({
    checkProvider: async () => {
      throw new Error('no connection')
    },
  })
  const id = randomUUID()
  const workflowId = providerWorkflowId('check', id)
  await expect(client.workflow.execute('checkProvider', { workflowId, taskQueue, args: [id] })).rejects.toThrow()
  expect(calls).toHaveLength(2)
})

test('the reconciler answers how much it started', async () => {
  const { client, taskQueue } = await start({ startMissingRuns: async () => ({ started: 4 }) })
  const workflowId = `reconcile-${randomUUID()}`
  expect(await client.workflow.execute('reconcile', { workflowId, taskQueue, args: [] })).toEqual({ started: 4 })
})

test('a definite refusal of an activity ends its run with the code', async () => {
  const { client, taskQueue } = await start({
    prepareProvider: async () => {
      throw ApplicationFailure.nonRetryable('The subject name is unreadable.', 'INVALID_PROVIDER_CONFIGURATION')
    },
  })
  const workflowId = providerWorkflowId('prepare', randomUUID())
  await expect(
    client.workflow.execute('prepareProvider', { workflowId, taskQueue, args: ['x'] }),
  ).rejects.toMatchObject({ cause: { cause: { type: 'INVALID_PROVIDER_CONFIGURATION' } } })
})

test('expiries are recorded chunk by chunk until there are no more', async () => {
  let chunks = 3
  const { client, taskQueue, of } = await start({
    recordExpiries: async () => ({ recorded: chunks > 1 ? 1000 : 7, more: --chunks > 0 }),
  })
  const workflowId = `expiry-${randomUUID()}`
  const handle = await client.workflow.start('recordExpiries', { workflowId, taskQueue, args: [] })
  expect(await handle.result()).toEqual({ recorded: 2007 })
  expect(of('recordExpiries')).toHaveLength(3)
})
