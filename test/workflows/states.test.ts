// The states that operators find runs by (docs/operations.md), and that what goes well at once costs none.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import type { WorkflowHandle } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { Activities } from '../../activities/index.ts'
import { mailWorkflowId, orderWorkflowId, revokeWorkflowId } from '../../workflows/ids.ts'
import { confirmed, searchAttributes } from '../../workflows/messages.ts'
import { until } from './rig.ts'
import { useRig } from './use-rig.ts'

const rigs = useRig()

const start = async (type: string, workflowId: string, fakes: Partial<Activities>) => {
  const { client, taskQueue } = await rigs.start(fakes)
  const args = type === 'remindOfExpiries' ? [] : [workflowId.replace(mailWorkflowId(''), '')]
  return client.workflow.start(type, { workflowId, taskQueue, args })
}

const states = async (handle: WorkflowHandle): Promise<string[]> =>
  ((await handle.fetchHistory()).events ?? []).flatMap(event => {
    const fields = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields ?? {}
    const data = fields[searchAttributes.state.name]?.data
    return data ? [JSON.parse(Buffer.from(data).toString()) as string] : []
  })

const mails = (settled: { queued: number; sent: number; failed: number }): Partial<Activities> => ({
  openMails: async () => ({ queuedDate: new Date().toISOString(), gathering: false }),
  sendMails: async () => ({ last: null, over: false }),
  settleMails: async () => settled,
})

test('mails that are tried again are found, those that were refused as well, and those that went at once have no state', async () => {
  const retried = await start('sendMails', mailWorkflowId(randomUUID()), mails({ queued: 1, sent: 0, failed: 0 }))
  await until(async () => (await states(retried)).length > 0)
  expect(await states(retried)).toEqual(['RETRYING'])
  await retried.terminate()

  const refused = await start('sendMails', mailWorkflowId(randomUUID()), mails({ queued: 0, sent: 1, failed: 1 }))
  await refused.result()
  expect(await states(refused)).toEqual(['FAILED'])

  const sent = await start('sendMails', mailWorkflowId(randomUUID()), mails({ queued: 0, sent: 2, failed: 0 }))
  await sent.result()
  expect(await states(sent)).toEqual([])
})

test('a revocation is found from its confirmation until a CRL tells it', async () => {
  const count = { revoked: 1, refused: 0, crlNumber: null }
  let unlisted = 1
  const handle = await start('revokeCertificates', revokeWorkflowId(randomUUID()), {
    beginRevocation: async () => ({ itemCount: 1 }),
    revokePart: async () => ({ ...count, unlisted }),
    closeRevocation: async () => ({ ...count, unlisted }),
    publishRevocation: async () => ({ ...count, unlisted: unlisted-- }),
  })
  await handle.executeUpdate(confirmed)
  await handle.result()
  expect(await states(handle)).toEqual(['UNLISTED', 'LISTED'])
})

test('an order that waits is found, and one that does not wait has no state', async () => {
  const order = (waiting: number): Partial<Activities> => ({
    beginOrder: async () => ({ itemCount: 1, expiresAt: new Date(Date.now() + 86_400_000).toISOString() }),
    issueOrderItems: async () => ({ issued: 1 - waiting, waiting }),
    closeOrder: async () => ({ status: 'COMPLETED' }),
  })
  const waits = await start('orderCertificates', orderWorkflowId(randomUUID()), order(1))
  await until(async () => (await states(waits)).length > 0)
  expect(await states(waits)).toEqual(['WAITING'])
  await waits.terminate()

  const done = await start('orderCertificates', orderWorkflowId(randomUUID()), order(0))
  await done.result()
  expect(await states(done)).toEqual([])
})

test('reminders that failed for a realm are found, and the details of the run name the realm', async () => {
  const handle = await start('remindOfExpiries', `reminders-${randomUUID()}`, {
    realmsToRemind: async () => ['good', 'bad'],
    remindRealm: async ({ realmId }) => {
      if (realmId === 'bad') throw ApplicationFailure.nonRetryable('broken', 'INTERNAL_ERROR')
      return { reminded: 3, more: false }
    },
  })
  expect(await handle.result()).toEqual({ reminded: 3, failed: 1 })
  expect(await states(handle)).toEqual(['FAILED'])
})

test('reminders of many realms go on as a new run, which forgets neither a realm nor what was counted', async () => {
  const realmIds = Array.from({ length: 600 }, (_, index) => `realm ${String(index).padStart(3, '0')}`)
  const asked: string[] = []
  const handle = await start('remindOfExpiries', `reminders-${randomUUID()}`, {
    realmsToRemind: async () => realmIds,
    remindRealm: async ({ realmId }) => {
      asked.push(realmId)
      if (realmId === 'realm 007') throw ApplicationFailure.nonRetryable('broken', 'INTERNAL_ERROR')
      return { reminded: 1, more: false }
    },
  })
  const firstRun = await handle.describe()
  expect(await handle.result()).toEqual({ reminded: 599, failed: 1 })
  expect(asked.toSorted()).toEqual(realmIds)
  expect((await handle.client.getHandle(handle.workflowId).describe()).runId).not.toBe(firstRun.runId)
  expect(await states(handle.client.getHandle(handle.workflowId))).toEqual(['FAILED'])
})
