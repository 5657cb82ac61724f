// Repeats an attempt until it succeeds, while the process that it needs lives.
import { setTimeout as wait } from 'node:timers/promises'
import type { RunningProcess } from './process.ts'

/** What is waited for: the part that must live meanwhile, and how long it may take. */
export interface Awaited {
  readonly part: RunningProcess
  readonly timeoutMs: number
}

const pollMs = 40

const giveUp = ({ part, timeoutMs }: Awaited, error: unknown): Error => {
  const reason = error instanceof Error ? error.message : String(error)
  const message = `${part.name} did not get ready in ${timeoutMs / 1000} s (${reason}):\n${part.lastLines()}`
  return new Error(message, { cause: error })
}

/** Tries until it succeeds; ends with the part's last log lines when the part dies or takes too long. */
export const until = async <T>(awaited: Awaited, attempt: () => Promise<T>): Promise<T> => {
  const { part, timeoutMs } = awaited
  const deadline = Date.now() + timeoutMs
  let latest: unknown
  while (Date.now() < deadline) {
    if (part.ended())
      throw new Error(`${await part.exited}. Its log is ${part.logFile}, which ends with:\n${part.lastLines()}`)
    try {
      return await attempt()
    } catch (error) {
      latest = error
    }
    await wait(pollMs)
  }
  throw giveUp(awaited, latest)
}
