// Keeps the started processes: one that ends by itself is started again while the others live, and all are stopped in
// reverse order.
import { type RunningProcess, stopRemaining } from './process.ts'
import { keepRunning, type Circumstances, type Persistence, type Revivable } from './revival.ts'
import type { RunFile } from './run-file.ts'

/** Keeps what was started. */
export interface Supervisor {
  /** Watches a process: when it ends by itself it is started again; before `settle` it makes `failed` reject. */
  readonly watch: (part: RunningProcess, again: Revivable['again']) => void
  /** Remembers how to stop a part that runs inside this process. */
  readonly keep: (stop: () => Promise<void>) => void
  /** Says that the first start is over: what ends from now on is started again. */
  readonly settle: () => void
  /** Never resolves; rejects with the reason and the last log lines of the first part that cannot be kept running. */
  readonly failed: Promise<never>
  readonly stopAll: () => Promise<void>
}

/** What a supervisor may do otherwise. */
export interface SupervisorOptions {
  readonly persistence?: Persistence
  /** Where it tells what ended and is started again. */
  readonly say?: Circumstances['say']
}

// A server that others need is back within the pauses of those: half a minute in all, and the time of their starts.
const standard: Persistence = { pauseMs: 500, longestPauseMs: 30_000, steadyMs: 30_000, attempts: 6 }

const warn = (text: string): void => void process.stderr.write(`${text}\n`)
const report = (error: unknown): void => warn(`While stopping: ${String(error)}`)

/** Makes a supervisor that records each process in the run file. */
export const makeSupervisor = (runFile: RunFile, options: SupervisorOptions = {}): Supervisor => {
  const stops: (() => Promise<void>)[] = []
  const kept: Promise<void>[] = []
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {}) // observed by those who race with it; a failure while stopping is none
  const stopping = new AbortController()
  let settled = false
  const circumstances: Circumstances = {
    persistence: standard,
    say: warn,
    ...options,
    isSettled: () => settled,
    stopping: stopping.signal,
    started: ({ name, pid }) => runFile.add(name, pid),
  }
  return {
    watch: (part, again) => {
      circumstances.started(part)
      const one: Revivable = { part, again }
      stops.unshift(() => one.part.stop())
      const keep = async (): Promise<void> => {
        const error = await keepRunning(one, circumstances)
        if (error) failure.reject(error)
      }
      kept.push(keep())
    },
    keep: stop => void stops.unshift(stop),
    settle: () => void (settled = true),
    failed: failure.promise,
    stopAll: async () => {
      stopping.abort()
      for (const stop of stops) await stop().catch(report)
      // What was being started meanwhile ends as well.
      await stopRemaining()
      await Promise.all(kept)
    },
  }
}
