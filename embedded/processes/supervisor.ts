// Keeps the started processes, notices the end of any and stops all in reverse order.
import { type RunningProcess, stopRemaining } from './process.ts'
import type { RunFile } from './run-file.ts'

/** Keeps what was started: notices the end of any part, and stops all in reverse order. */
export interface Supervisor {
  /** Watches a process: when it ends by itself, `failed` rejects. */
  readonly watch: (part: RunningProcess) => void
  /** Remembers how to stop a part that runs inside this process. */
  readonly keep: (stop: () => Promise<void>) => void
  /** Never resolves; rejects with the reason and the last log lines of the first part that ended by itself. */
  readonly failed: Promise<never>
  readonly stopAll: () => Promise<void>
}

const report = (error: unknown): void => void process.stderr.write(`While stopping: ${String(error)}\n`)

/** Makes a supervisor that records each process in the run file. */
export const makeSupervisor = (runFile: RunFile): Supervisor => {
  const stops: (() => Promise<void>)[] = []
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {}) // observed by those who race with it; a failure while stopping is none
  let stopping = false
  const observe = async (part: RunningProcess) => {
    const reason = await part.exited
    if (!stopping)
      failure.reject(new Error(`${reason}. Its log is ${part.logFile}, which ends with:\n${part.lastLines()}`))
  }
  return {
    watch: part => {
      runFile.add(part.name, part.pid)
      stops.unshift(part.stop)
      void observe(part)
    },
    keep: stop => void stops.unshift(stop),
    failed: failure.promise,
    stopAll: async () => {
      stopping = true
      for (const stop of stops) await stop().catch(report)
      await stopRemaining()
    },
  }
}
