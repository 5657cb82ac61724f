// The run of an import of principals: page after page, however many there are; and nobody is looked for before the last page.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Worker } from '@temporalio/worker'
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js'
import type { WorkflowHandle } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import type { Activities } from '../../activities/index.ts'
import { freePort } from '../../embedded/processes/ports.ts'
import { startTemporal } from '../../embedded/servers/temporal.ts'
import { importWorkflowId } from '../../workflows/ids.ts'
import type { importUsers, ImportOrder } from '../../workflows/import-principals.ts'
import { detailsOf } from '../support/service.ts'
import { stack } from '../support/stack.ts'
import { dataConverter, person, quiet, serverAt } from './rig.ts'
import { useRig } from './use-rig.ts'

// A server of its own: there is one import of users at a time, and others import as well.
const { start } = useRig(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'certwright-imports-'))
  const server = await startTemporal({
    program: stack.temporalCli(),
    port: await freePort(),
    databaseFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'temporal.log'),
  })
  const place = await serverAt(server.address, { codePath: stack.workflowBundle() })
  const stop = async (): Promise<void> => {
    await place.connection.close()
    await server.stop()
    rmSync(folder, { recursive: true })
  }
  return { place, stop }
})

// As in replay.test.ts.
beforeAll(quiet)
afterAll(() => globalHandlers.uninstall())

const pages = 300
const parts = 100

/** So many pages, each of a hundred with three that are new; and so many parts of records, each with one that is gone. */
const directory: Partial<Activities> = {
  askDirectory: async () => undefined,
  importPage: async ({ first }) => {
    const next = first + 100 < pages * 100 ? first + 100 : null
    return { read: 100, made: 3, changed: 2, kept: [], next }
  },
  disableGone: async ({ after }) => {
    const last = after === null ? 1 : Number(after) + 1
    if (last > parts) return { looked: 0, disabled: 0, kept: [], last: null }
    return { looked: 9, disabled: 1, kept: last === 7 ? ['Ada'] : [], last: String(last) }
  },
}

const startImport = async (fakes: Partial<Activities>, more: Partial<ImportOrder> = {}) => {
  const rig = await start(fakes)
  const handle = await rig.client.workflow.start<typeof importUsers>('importUsers', {
    workflowId: importWorkflowId('USER'),
    taskQueue: rig.taskQueue,
    args: [{ principal: person(), ...more }],
  })
  return { rig, handle }
}

const replay = async (handle: WorkflowHandle): Promise<void> =>
  Worker.runReplayHistory(
    { workflowBundle: { codePath: stack.workflowBundle() }, dataConverter },
    await handle.fetchHistory(),
    handle.workflowId,
  )

test('a long one goes on as new runs, asks for each page once, and counts all of them', async () => {
  const { rig, handle } = await startImport(directory, { longestHistory: 500 })
  const { client, of } = rig
  await handle.result()
  expect(of('importPage').map(({ input }) => input.first)).toEqual(Array.from({ length: pages }, (_, n) => n * 100))
  const behind = Array.from({ length: parts + 1 }, (_, n) => (n === 0 ? null : String(n)))
  expect(of('disableGone').map(({ input }) => input.after)).toEqual(behind)
  expect(await detailsOf(rig, handle.workflowId)).toBe(
    '30000 read, 900 new, 600 changed; 900 looked for, 100 disabled; Ada stays enabled as the last administrator',
  )
  const first = client.workflow.getHandle(handle.workflowId, handle.firstExecutionRunId)
  const { status, historyLength } = await first.describe()
  expect(status.name).toBe('CONTINUED_AS_NEW')
  expect(historyLength).toBeLessThan(520)
  await replay(first)
  await replay(client.workflow.getHandle(handle.workflowId))
})

test('one that loses the identity provider in the middle of the list has failed, and looked for nobody', async () => {
  const { rig, handle } = await startImport({
    ...directory,
    importPage: async ({ first }) => {
      if (first > 0) throw ApplicationFailure.nonRetryable('The identity provider cannot be reached.', 'GONE')
      return { read: 100, made: 100, changed: 0, kept: [], next: 100 }
    },
  })
  await expect(handle.result()).rejects.toMatchObject({ cause: { cause: { type: 'GONE' } } })
  expect(rig.of('importPage')).toHaveLength(2)
  expect(rig.of('disableGone')).toEqual([])
})
