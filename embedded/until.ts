import { setTimeout as wait } from 'node:timers/promises'
import type { RunningProcess } from './process.ts'

/** What is waited for: the part that must live meanwhile, and how long it may take. */
export interface Awaited {
  readonly part: RunningProcess
  readonly patienceMs: number
}

const LOOK_AGAIN_MS = 40

/** Tries until it succeeds; ends with the part's last log lines when the part dies or takes too long. */
export const until = async <T>({ part, patienceMs }: Awaited, attempt: () => Promise<T>): Promise<T> => {
  const deadline = Date.now() + patienceMs
  for (;;) {
    if (part.ended()) throw new Error(`${await part.exited}. Its last lines:\n${part.lastLines()}`)
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() < deadline) {
        await wait(LOOK_AGAIN_MS)
        continue
      }
      const reason = error instanceof Error ? error.message : String(error)
      const cause = { cause: error }
      throw new Error(`${part.name} did not get ready in ${patienceMs / 1000} s (${reason}):\n${part.lastLines()}`, cause)
    }
  }
}
