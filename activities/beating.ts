// Heartbeats of long activities.
import { Context } from '@temporalio/activity'

const beatEveryMs = 10_000

/** Stops an activity that was cancelled; that it was, its heartbeats tell. */
export const mustGoOn = (): void => Context.current().cancellationSignal.throwIfAborted()

/** Heartbeats while it works, so that a dead worker is noticed within a minute; a cancelled one stops at the next beat. */
export const beating = async <T>(work: (beat: () => void) => Promise<T>): Promise<T> => {
  const { heartbeat } = Context.current()
  const timer = setInterval(() => heartbeat(), beatEveryMs)
  try {
    return await work(() => {
      heartbeat()
      mustGoOn()
    })
  } finally {
    clearInterval(timer)
  }
}
