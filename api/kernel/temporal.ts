// What operations do with Temporal: start a workflow, wait for it with a deadline, send it an update.
import { setTimeout } from 'node:timers/promises'
import {
  Client,
  Connection,
  isGrpcCancelledError,
  isGrpcDeadlineError,
  isGrpcServiceError,
  isRetryableError,
  type ConnectionOptions,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import type {
  DataConverter,
  SignalDefinition,
  UpdateDefinition,
  Workflow,
  WorkflowResultType,
} from '@temporalio/common'
import { apiErrors, Failure, type ApiError } from '../../domain/failure.ts'
import { startOptions, type Start } from '../../workflows/starts.ts'

const startPatienceMs = 10_000
const betweenTriesMs = 1000

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

/** The errors of gRPC that an error is or was made of. */
const grpcErrorsIn = (error: unknown) =>
  error instanceof Error ? [error, error.cause].filter(one => isGrpcServiceError(one)) : []

/** The SDK tells a passed deadline in several ways: gRPC's own, a call that it cancelled, and its error for updates. */
const isDeadline = (error: unknown): boolean =>
  error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
  grpcErrorsIn(error).some(one => isGrpcDeadlineError(one) || isGrpcCancelledError(one))

/** Whether Temporal cannot do now what it may do later: nobody answers, or too much is asked of it. */
const isUnavailable = (error: unknown): boolean =>
  isDeadline(error) || grpcErrorsIn(error).some(one => isRetryableError(one))

/** FAILED_PRECONDITION of gRPC. */
const failedPrecondition = 9

/** Whether a run takes no update now: its tasks have failed or timed out again and again, as with a worker that hangs. */
const isNotReady = (error: unknown): boolean => {
  const codes: number[] = grpcErrorsIn(error).map(({ code }) => code)
  return codes.includes(failedPrecondition)
}

const outOfReach = (cause: unknown): Failure => {
  const failure = new Failure('SERVICE_UNAVAILABLE', 'Temporal cannot be used now.')
  failure.cause = cause
  return failure
}

const translated = async <T>(call: () => Promise<T>): Promise<T> => {
  try {
    return await call()
  } catch (error) {
    throw failureIn(error) ?? (isUnavailable(error) ? outOfReach(error) : error)
  }
}

const pendingIfPassing = (error: unknown): Pending => {
  if (isNotReady(error) || isUnavailable(error)) return PENDING
  throw error
}

/** Asks again until `end` (milliseconds since 1970) while the answer may yet be another; no answer of ours is PENDING. */
const insist = async <T>(call: () => Promise<T>, end: number): Promise<T | Pending> => {
  while (Date.now() < end) {
    const answer = await call().catch(pendingIfPassing)
    if (answer !== PENDING) return answer
    await setTimeout(Math.min(betweenTriesMs, Math.max(0, end - Date.now())))
  }
  return PENDING
}

/** The API's way to Temporal; it connects at first use, so that the API starts before Temporal does. */
export class Temporal {
  readonly #connection: Connection
  readonly #taskQueue: string
  readonly #client: Client
  readonly #waits = new Set<() => void>()
  #isEnding = false

  constructor({ address, taskQueue, tls, ...options }: TemporalOptions) {
    this.#connection = Connection.lazy({ address, tls: tls ?? null })
    this.#taskQueue = taskQueue
    this.#client = new Client({ connection: this.#connection, ...options })
  }

  /** Starts a workflow, or joins the run of its id; the rows it reads are flushed before. */
  async start(start: Start): Promise<void> {
    const send = () => this.#client.workflow.start(start.workflow, this.#optionsOf(start))
    await translated(() => this.#connection.withDeadline(Date.now() + startPatienceMs, send))
  }

  /** Starts a workflow and answers whether it is new: false while a run has its id. */
  async startNew(start: Start): Promise<boolean> {
    return (await translated(() => this.#startAlone(start))) !== undefined
  }

  /** Starts what the records ask for already: where that fails, the call has not failed, and the reconciler starts it. */
  async startSoon(start: Start): Promise<void> {
    await this.start(start).catch(() => undefined)
  }

  /** Tells a running workflow what it would see by itself, but later: where that fails, the call has not failed. */
  async tellSoon<A extends unknown[]>(workflowId: string, signal: SignalDefinition<A>, args: A): Promise<void> {
    const send = () => this.#client.workflow.getHandle(workflowId).signal(signal, ...args)
    await this.#connection.withDeadline(Date.now() + startPatienceMs, send).catch(() => undefined)
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

  /**
   * Sends an update and starts the workflow for it when none runs. Its id stays the same however often it is sent, so that
   * it is taken once.
   */
  async updateWithStart<R, A extends unknown[]>(
    update: UpdateDefinition<R, A>,
    { args, start, seconds = 30 }: { args: A; start: Start; seconds?: number },
  ): Promise<R | Pending> {
    const updateId = crypto.randomUUID()
    const send = () =>
      this.#client.workflow.executeUpdateWithStart(update, {
        args,
        updateId,
        startWorkflowOperation: new WithStartWorkflowOperation(start.workflow, this.#optionsOf(start)),
      })
    const end = Date.now() + seconds * 1000
    return this.#within(seconds, () => insist(send, end))
  }

  /** Has everybody who waits told PENDING, now and from now on, because the process ends; what was begun goes on. */
  endWaits(): void {
    this.#isEnding = true
    for (const end of this.#waits) end()
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

  /** The answer of a call, or PENDING when the process ends before it. */
  async #untilTheEnd<T>(call: () => Promise<T | Pending>): Promise<T | Pending> {
    const { promise, resolve } = Promise.withResolvers<Pending>()
    const end = (): void => resolve(PENDING)
    if (this.#isEnding) end()
    this.#waits.add(end)
    try {
      return await Promise.race([call(), promise])
    } finally {
      this.#waits.delete(end)
    }
  }

  async #within<T>(seconds: number, call: () => Promise<T>): Promise<T | Pending> {
    const limited = async (): Promise<T | Pending> => {
      try {
        return await this.#connection.withDeadline(Date.now() + seconds * 1000, call)
      } catch (error) {
        if (isDeadline(error)) return PENDING
        throw error
      }
    }
    return translated(() => this.#untilTheEnd(limited))
  }
}

/** Makes the API's way to Temporal. */
export const connectTemporal = (options: TemporalOptions): Temporal => new Temporal(options)
