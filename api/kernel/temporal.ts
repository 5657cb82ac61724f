// What operations do with Temporal: start a workflow, wait for it with a deadline, tell a running one something.
import {
  Client,
  Connection,
  isGrpcCancelledError,
  isGrpcDeadlineError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type WorkflowOptions,
} from '@temporalio/client'
import type {
  DataConverter,
  SignalDefinition,
  UpdateDefinition,
  Workflow,
  WorkflowResultType,
} from '@temporalio/common'
import { apiErrors, Failure, type ApiError } from '../../domain/failure.ts'

const startPatienceMs = 10_000

/** The answer of a wait whose time was over; the workflow goes on. */
export const PENDING = 'PENDING'
export type Pending = typeof PENDING

export interface TemporalOptions {
  readonly address: string
  readonly namespace: string
  readonly taskQueue: string
  readonly dataConverter?: DataConverter
}

/** How a workflow is started. */
export interface Start<W extends Workflow> {
  /** The workflow id, a business id of `workflows/ids.ts`. */
  readonly id: string
  readonly args: Parameters<W>
  /** A line for operators, without names of people. */
  readonly summary?: string
  /** While it runs already: join it (the default), or refuse with INVALID_STATE. */
  readonly ifRunning?: 'JOIN' | 'REFUSE'
  /** When it ran before: run again (the default), only after a failure, or keep that run and its result. */
  readonly ifClosed?: 'AGAIN' | 'AGAIN_AFTER_FAILURE' | 'KEEP'
  readonly options?: Partial<
    Pick<
      WorkflowOptions,
      'typedSearchAttributes' | 'workflowExecutionTimeout' | 'workflowTaskTimeout' | 'startDelay' | 'memo'
    >
  >
}

type AnyArguments = [unknown, ...unknown[]]

const conflictPolicies = { JOIN: 'USE_EXISTING', REFUSE: 'FAIL' } as const
const reusePolicies = {
  AGAIN: 'ALLOW_DUPLICATE',
  AGAIN_AFTER_FAILURE: 'ALLOW_DUPLICATE_FAILED_ONLY',
  KEEP: 'REJECT_DUPLICATE',
} as const

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
  /** The client below, for what has no method here. */
  readonly client: Client

  constructor({ address, taskQueue, ...options }: TemporalOptions) {
    this.#connection = Connection.lazy({ address })
    this.#taskQueue = taskQueue
    this.client = new Client({ connection: this.#connection, ...options })
  }

  /** Starts a workflow; the rows it reads are flushed before. */
  async start<W extends Workflow>(workflow: W | string, start: Start<W>): Promise<void> {
    const send = () => this.client.workflow.start(workflow, this.#optionsOf(start) as never)
    try {
      await this.#connection.withDeadline(Date.now() + startPatienceMs, send)
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
      if (start.ifRunning === 'REFUSE') throw new Failure('INVALID_STATE', 'The same work is running already.')
    }
  }

  /** Waits so many seconds for the result of a workflow, else answers PENDING; the workflow goes on. */
  async wait<T>(workflowId: string, seconds: number): Promise<T | Pending> {
    return this.#within(seconds, () => this.client.workflow.getHandle(workflowId).result() as Promise<T>)
  }

  /** Starts a workflow and waits for its result. */
  async execute<W extends Workflow>(
    workflow: W | string,
    start: Start<W>,
    seconds: number,
  ): Promise<WorkflowResultType<W> | Pending> {
    await this.start(workflow, start)
    return this.wait<WorkflowResultType<W>>(start.id, seconds)
  }

  /** Sends an update to a running workflow and answers its verdict; undefined when no such workflow runs. */
  async update<R, A extends unknown[]>(
    workflowId: string,
    update: UpdateDefinition<R, A>,
    { args, seconds = 30 }: { args: A; seconds?: number },
  ): Promise<R | Pending | undefined> {
    const send = () =>
      this.client.workflow
        .getHandle(workflowId)
        .executeUpdate<R, AnyArguments>(update.name, { args: args as unknown[] as AnyArguments })
    return orUndefined(() => this.#within(seconds, send))
  }

  /** Sends an update and starts the workflow for it when none runs. */
  async updateWithStart<R, A extends unknown[], W extends Workflow>(
    update: UpdateDefinition<R, A>,
    options: { args: A; updateId?: string; workflow: W | string; start: Start<W>; seconds?: number },
  ): Promise<R | Pending> {
    const { args, updateId, workflow, start, seconds = 30 } = options
    const startWorkflowOperation = new WithStartWorkflowOperation(workflow, this.#optionsOf(start) as never)
    const send = () =>
      this.client.workflow.executeUpdateWithStart(update, {
        args,
        ...(updateId !== undefined && { updateId }),
        startWorkflowOperation,
      })
    return this.#within(seconds, send)
  }

  /** Sends a signal to a running workflow; false when no such workflow runs. */
  async signal<A extends unknown[]>(workflowId: string, signal: SignalDefinition<A>, ...args: A): Promise<boolean> {
    const sent = await orUndefined(async () => {
      await this.client.workflow.getHandle(workflowId).signal<unknown[]>(signal.name, ...args)
      return true
    })
    return sent ?? false
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

  #optionsOf<W extends Workflow>({ id, args, summary, ifRunning = 'JOIN', ifClosed = 'AGAIN', options }: Start<W>) {
    return {
      workflowId: id,
      taskQueue: this.#taskQueue,
      args,
      workflowIdConflictPolicy: conflictPolicies[ifRunning],
      workflowIdReusePolicy: reusePolicies[ifClosed],
      ...(summary !== undefined && { staticSummary: summary }),
      ...options,
    }
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

const orUndefined = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await call()
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined
    throw error
  }
}

/** Makes the API's way to Temporal. */
export const connectTemporal = (options: TemporalOptions): Temporal => new Temporal(options)
