// What operations do with Temporal: start a workflow, wait for it with a deadline, send it an update.
import {
  Client,
  Connection,
  isGrpcCancelledError,
  isGrpcDeadlineError,
  type ConnectionOptions,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import type { DataConverter, UpdateDefinition, Workflow, WorkflowResultType } from '@temporalio/common'
import { apiErrors, Failure, type ApiError } from '../../domain/failure.ts'
import { startOptions, type Start } from '../../workflows/starts.ts'

const startPatienceMs = 10_000

/** The seconds that another run with the same id may keep one waiting. */
const longestOther = 15

/** The answer of a wait whose time was over; the workflow goes on. */
export const PENDING = 'PENDING'
/** The type of that answer. */
export type Pending = typeof PENDING

/** Where the Temporal server is, and where our worker listens. */
export interface TemporalOptions {
  readonly address: string
  readonly namespace: string
  readonly taskQueue: string
  readonly dataConverter?: DataConverter
  /** How TLS is spoken to the server; in the clear unless stated. */
  readonly tls?: ConnectionOptions['tls'] | undefined
}

/** The failure that a workflow, update or activity ended with, decided by the type of an error in its chain of causes. */
export const failureIn = (error: unknown): Failure | undefined => {
  if (!(error instanceof Error)) return undefined
  const { type } = error as { type?: unknown }
  if (typeof type === 'string' && type in apiErrors) return new Failure(type as ApiError, error.message)
  return failureIn(error.cause)
}

const translated = async <T>(call: () => Promise<T>): Promise<T> => {
  try {
    return await call()
  } catch (error) {
    throw failureIn(error) ?? error
  }
}

/** The API's way to Temporal; it connects at first use, so that the API starts before Temporal does. */
export class Temporal {
  readonly #connection: Connection
  readonly #taskQueue: string
  readonly #client: Client

  constructor({ address, taskQueue, tls, ...options }: TemporalOptions) {
    this.#connection = Connection.lazy({ address, tls: tls ?? null })
    this.#taskQueue = taskQueue
    this.#client = new Client({ connection: this.#connection, ...options })
  }

  /** Starts a workflow, or joins the run of its id; the rows it reads are flushed before. */
  async start(start: Start): Promise<void> {
    const send = () => this.#client.workflow.start(start.workflow, this.#optionsOf(start))
    await this.#connection.withDeadline(Date.now() + startPatienceMs, send)
  }

  /** Starts what the records ask for already: where that fails, the call has not failed, and the reconciler starts it. */
  async startSoon(start: Start): Promise<void> {
    await this.start(start).catch(() => undefined)
  }

  /** Waits so many seconds for the result of a workflow, else answers PENDING; the workflow goes on. */
  async wait<T>(workflowId: string, seconds: number): Promise<T | Pending> {
    return this.#within(seconds, () => this.#client.workflow.getHandle(workflowId).result() as Promise<T>)
  }

  /** Starts a workflow, or joins the run of its id, and waits for its result. */
  async run<W extends Workflow>(start: Start<W>, seconds: number): Promise<WorkflowResultType<W> | Pending> {
    await this.start(start)
    return this.wait<WorkflowResultType<W>>(start.id, seconds)
  }

  /**
   * Starts a run of its own and waits for its result. While another run has its id, that one's end is waited for; with
   * no end in time the answer is PENDING, and it has not begun.
   */
  async runAlone<W extends Workflow>(start: Start<W>, seconds: number): Promise<WorkflowResultType<W> | Pending> {
    const end = Date.now() + longestOther * 1000
    for (;;) {
      const own = await this.#startAlone(start)
      if (own) return this.#within(seconds, () => own.result() as Promise<WorkflowResultType<W>>)
      // However the other one ends, it is none of our business.
      const other = await this.wait(start.id, Math.max(0, end - Date.now()) / 1000).catch(() => null)
      if (other === PENDING) return PENDING
    }
  }

  /** Sends an update and starts the workflow for it when none runs. */
  async updateWithStart<R, A extends unknown[]>(
    update: UpdateDefinition<R, A>,
    { args, start, seconds = 30 }: { args: A; start: Start; seconds?: number },
  ): Promise<R | Pending> {
    const startWorkflowOperation = new WithStartWorkflowOperation(start.workflow, this.#optionsOf(start))
    const send = () => this.#client.workflow.executeUpdateWithStart(update, { args, startWorkflowOperation })
    return this.#within(seconds, send)
  }

  /** Throws unless Temporal answers within the time. */
  async check(seconds = 2): Promise<void> {
    await this.#connection.withDeadline(Date.now() + seconds * 1000, async () => {
      // Not ensureConnected(): it remembers a failure for ever.
      await this.#connection.workflowService.getSystemInfo({})
    })
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    await this.#connection.close()
  }

  /** The new run; undefined while another has its id. */
  async #startAlone(start: Start): Promise<WorkflowHandle | undefined> {
    const options = { ...startOptions(start, this.#taskQueue), workflowIdConflictPolicy: 'FAIL' as const }
    try {
      return await this.#connection.withDeadline(Date.now() + startPatienceMs, () =>
        this.#client.workflow.start(start.workflow, options),
      )
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined
      throw error
    }
  }

  #optionsOf(start: Start) {
    return { ...startOptions(start, this.#taskQueue), workflowIdConflictPolicy: 'USE_EXISTING' as const }
  }

  async #within<T>(seconds: number, call: () => Promise<T>): Promise<T | Pending> {
    try {
      return await this.#connection.withDeadline(Date.now() + seconds * 1000, () => translated(call))
    } catch (error) {
      if (isDeadline(error)) return PENDING
      throw error
    }
  }
}

/** The SDK tells a passed deadline in several ways: gRPC's own, a call that it cancelled, and its error for updates. */
const isDeadline = (error: unknown): boolean =>
  error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
  (error instanceof Error && [error, error.cause].some(one => isGrpcDeadlineError(one) || isGrpcCancelledError(one)))

/** Makes the API's way to Temporal. */
export const connectTemporal = (options: TemporalOptions): Temporal => new Temporal(options)
