// What the stories share that kill a worker in the middle of a transaction: the database holds the transaction, the worker
// dies, and what it was about to write is then either not there, or there without anybody knowing.
import { Client, Connection } from '@temporalio/client'
import { expect } from '@jest/globals'
import type { RunningProcess } from '../../embedded/processes/process.ts'
import { temporalNamespace } from '../../embedded/servers/temporal.ts'
import { AuditEvent } from '../../storage/rows/audit-event.ts'
import { parseKeys } from '../../storage/seal.ts'
import { createDataConverter } from '../../worker/payload-codec.ts'
import { giveUpAttempts, workerOf } from '../support/attempts.ts'
import { until } from '../support/issuing.ts'
import { startProcesses, type ProcessesOptions } from '../support/processes.ts'

/** At a row, which dies with its worker, or at the commit, which the database ends without it. */
export type Moment = 'ROW' | 'COMMIT'

/** Which transactions are held: those that write such rows, such as `insert on app_user`. */
export interface Hold {
  readonly moment: Moment
  readonly event: 'insert' | 'update'
  readonly table: string
  /** A condition on the row; any unless stated. */
  readonly when?: string
}

/** A worker to be killed at a run of this type, once what `begin` does has come to the held transaction. */
export interface Crash<T> extends Hold {
  readonly workflow: string
  /** Those of which one is at the run by then. */
  readonly workers: () => readonly RunningProcess[]
  readonly begin: () => T
  /** What is to be seen while the worker is dead and its transaction open. */
  readonly midway?: () => Promise<void>
}

const lock = 7_234_999

const waiter = `create or replace function wait_for_test() returns trigger language plpgsql as
  $$ begin perform pg_advisory_xact_lock(${lock}); return new; end $$`

const triggers: Readonly<Record<Moment, (hold: Hold) => string>> = {
  ROW: ({ event, table }) => `create trigger wait_for_test before ${event} on ${table}`,
  COMMIT: ({ event, table }) =>
    `create constraint trigger wait_for_test after ${event} on ${table} deferrable initially deferred`,
}
const triggerOf = (hold: Hold): string =>
  `${triggers[hold.moment](hold)} for each row when (${hold.when ?? 'true'}) execute function wait_for_test()`

const held = `select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = ${lock} and not granted`

/** Starts the processes, and a client that reads what runs tell operators. `stop()` it at the end. */
export const openCrash = async (options: ProcessesOptions = {}) => {
  const service = await startProcesses(options)
  const connection = await Connection.connect({ address: service.running.temporal.address })
  const dataConverter = createDataConverter(parseKeys(service.started.secrets.payloadKeys))
  const client = new Client({ connection, namespace: temporalNamespace, dataConverter })
  const em = () => service.orm.em.fork()
  await em().execute(waiter)

  const runOf = async (type: string): Promise<string | undefined> => {
    const query = `WorkflowType = '${type}' and ExecutionStatus = 'Running'`
    for await (const { workflowId } of client.workflow.list({ query })) return workflowId
    return undefined
  }

  /** Kills the worker that the transaction belongs to and lets go of it; answers when it has come to its end. */
  const kill = async <T>({ begin, midway, workers, workflow, ...hold }: Crash<T>) => {
    await em().execute(triggerOf(hold))
    const killed = await em().transactional(async tx => {
      await tx.execute(`select pg_advisory_xact_lock(${lock})`)
      const begun = begin()
      await until('a transaction waits', async () => (await em().execute<{ n: number }[]>(held))[0]?.n === 1)
      const runId = await until('the run is listed', () => runOf(workflow))
      const worker = await until('a worker is at it', () => workerOf(client, runId, workers()))
      await worker.kill()
      expect(await worker.exited).toContain('SIGKILL')
      await midway?.()
      return { begun, runId, worker }
    })
    // Waits for the end of all that write there.
    await em().execute(`drop trigger wait_for_test on ${hold.table}`)
    return killed
  }

  const stop = async (): Promise<void> => {
    await connection.close()
    await service.stop()
  }
  return {
    ...service,
    client,
    em,
    kill,
    stop,
    /** Another worker, once it takes what there is to do. */
    anotherWorker: async (): Promise<RunningProcess> => {
      const worker = await service.startSecondWorker()
      await until('it is ready', async () => worker.lastLines().includes('the worker is ready'))
      return worker
    },
    /** The status that operators see of a run when it runs no more. */
    endOf: (runId: string): Promise<string> =>
      until('the run has ended', async () => {
        const { name } = (await client.workflow.getHandle(runId).describe()).status
        return name !== 'RUNNING' && name
      }),
    giveUpAttempts: (runId: string, worker: RunningProcess) => giveUpAttempts(client, runId, worker),
    /** The kinds of the events of an object, in their order. */
    eventsOf: async (objectId: string): Promise<string[]> => {
      const events = await em().find(AuditEvent, { objectId }, { orderBy: { id: 'asc' } })
      return events.map(({ eventType }) => eventType)
    },
  }
}
export type CrashScene = Awaited<ReturnType<typeof openCrash>>
