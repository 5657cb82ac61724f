// Starts a part again when it ends by itself, with growing pauses, until it ends at once too often.
import { setTimeout as wait } from 'node:timers/promises'
import type { RunningProcess } from './process.ts'

/** When a part is started again, and when no more. */
export interface Persistence {
  /** The pause before the first new start; each one after that is twice as long. */
  readonly pauseMs: number
  readonly longestPauseMs: number
  /** Who has lived so long has not ended at once. */
  readonly steadyMs: number
  /** So many times in a row a part may end at once. */
  readonly attempts: number
}

/** A part over all its processes. */
export interface Revivable {
  /** Its present process, or the last one. */
  part: RunningProcess
  /** Starts it anew, as it was started first. */
  readonly again: () => RunningProcess | Promise<RunningProcess>
}

/** What decides whether a part is started again. */
export interface Circumstances {
  readonly persistence: Persistence
  /** False while the first start goes on: who ends meanwhile is not started again. */
  readonly isSettled: () => boolean
  /** Aborted when all stops. */
  readonly stopping: AbortSignal
  /** Tells people what ended and is started again. */
  readonly say: (line: string) => void
  /** Hears of each new process. */
  readonly started: (part: RunningProcess) => void
}

interface End {
  readonly reason: string
  /** So many times in a row it has ended at once, this one included. */
  readonly quickEnds: number
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Starts it once more; the reason when that failed, or a process that was started while all stops. */
const startAgain = async (one: Revivable, { started, stopping }: Circumstances): Promise<string | undefined> => {
  try {
    const part = await one.again()
    if (stopping.aborted) await part.stop()
    one.part = part
    started(part)
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

const pauseBefore = ({ pauseMs, longestPauseMs }: Persistence, quickEnds: number): number =>
  Math.min(pauseMs * 2 ** (quickEnds - 1), longestPauseMs)

/** Waits for the end of the present process, or tells that of a start that failed. */
const nextEnd = async (one: Revivable, circumstances: Circumstances, last: End | undefined): Promise<End> => {
  const since = performance.now()
  const failed = last && (await startAgain(one, circumstances))
  const reason = failed ?? (await one.part.exited)
  const isQuick = failed !== undefined || performance.now() - since < circumstances.persistence.steadyMs
  return { reason, quickEnds: isQuick ? (last?.quickEnds ?? 0) + 1 : 1 }
}

/** Keeps a part running; resolves with nothing when all stops, or with why it cannot be kept. */
export const keepRunning = async (one: Revivable, circumstances: Circumstances): Promise<Error | undefined> => {
  const { persistence, isSettled, stopping, say } = circumstances
  for (let last: End | undefined; ;) {
    const end: End = await nextEnd(one, circumstances, last)
    if (stopping.aborted) return undefined
    const { reason, quickEnds } = end
    const { logFile } = one.part
    if (!isSettled() || quickEnds > persistence.attempts)
      return new Error(`${reason}. Its log is ${logFile}, which ends with:\n${one.part.lastLines()}`)
    const pauseMs = pauseBefore(persistence, quickEnds)
    say(`${reason}. Its log is ${logFile}. It is started again in ${pauseMs / 1000} s.`)
    await wait(pauseMs, undefined, { signal: stopping }).catch(() => {})
    if (stopping.aborted) return undefined
    last = end
  }
}
