// An empty workflow with one activity on the Temporal server of the stack, by a worker of its own: the price of any run.
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { temporalNamespace } from '../embedded/servers/temporal.ts'
import { measureCalls, type Latency } from './latency.ts'
import type { Load } from './peers-stack.ts'

const taskQueue = 'bench-peers'

const withWorker = async <T>(address: string, use: () => Promise<T>): Promise<T> => {
  Runtime.install({ logger: new DefaultLogger('WARN') })
  const connection = await NativeConnection.connect({ address })
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('peers-workflow.ts', import.meta.url)),
    logger: new DefaultLogger('WARN'),
  })
  const parts = { connection, namespace: temporalNamespace, taskQueue, workflowBundle }
  const worker = await Worker.create({ ...parts, activities: { nothing: () => Promise.resolve() } })
  try {
    return await worker.runUntil(use)
  } finally {
    await connection.close()
  }
}

/** Runs it at each of the loads. */
export const measureEmptyWorkflow = async (address: string, loads: readonly Load[]): Promise<Latency[]> => {
  const connection = await Connection.connect({ address })
  const client = new Client({ connection, namespace: temporalNamespace })
  const run = () => client.workflow.execute('empty', { taskQueue, workflowId: `bench-peers/${randomUUID()}` })
  const measured = await withWorker(address, async () => {
    await measureCalls({ calls: 20, clients: 4 }, run)
    const rows: Latency[] = []
    for (const load of loads) rows.push(await measureCalls(load, run))
    return rows
  })
  await connection.close()
  return measured
}
