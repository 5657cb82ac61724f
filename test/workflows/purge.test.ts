// The run of a purge: part after part until nothing is left, however many there are, and told to operators.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { purgeWorkflowId } from '../../workflows/ids.ts'
import { detailsOf } from '../support/service.ts'
import { useRig } from './use-rig.ts'

const { start } = useRig()

/** Runs a purge of so many parts, of which each fails once where that is said. */
const run = async (parts: number, failing = false) => {
  let [deleted, failures] = [0, 0]
  const rig = await start({
    purgePart: async () => {
      if (failing && failures++ % 2 === 0) throw new Error('no connection')
      deleted += 1
      return { total: parts, deleted, along: 2 * deleted, skipped: 1, closed: deleted === parts }
    },
  })
  const workflowId = purgeWorkflowId('CERTIFICATE', randomUUID())
  const { client, taskQueue } = rig
  const handle = await client.workflow.start('purgeArchived', { workflowId, taskQueue, args: [workflowId] })
  const result = await handle.result()
  return { handle, result, rig }
}

test('a purge goes from part to part, through failures that pass', async () => {
  const { result, rig, handle } = await run(3, true)
  expect(result).toEqual({ deleted: 3, skipped: 1 })
  expect(new Set(rig.of('purgePart').map(({ input }) => input.purgeId))).toEqual(new Set([handle.workflowId]))
  expect(await detailsOf(rig, handle.workflowId)).toBe('3 of 3 deleted, 6 others with them; 1 skipped')
})

test('a long one goes on as a new run, and asks for each part once', async () => {
  const { handle, result, rig } = await run(500)
  expect(result).toEqual({ deleted: 500, skipped: 1 })
  expect(rig.of('purgePart')).toHaveLength(500)
  const first = rig.client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId)
  const { status, historyLength } = await first.describe()
  expect(status.name).toBe('CONTINUED_AS_NEW')
  expect(historyLength).toBeLessThan(2100)
})

test('an argument that was made for another run is refused', async () => {
  const rig = await start({})
  const options = { workflowId: purgeWorkflowId('REALM', randomUUID()), taskQueue: rig.taskQueue }
  const started = rig.client.workflow.execute('purgeArchived', {
    ...options,
    args: [purgeWorkflowId('REALM', randomUUID())],
  })
  await expect(started).rejects.toMatchObject({ cause: { type: 'ACCESS_DENIED' } })
  expect(rig.calls).toEqual([])
})
