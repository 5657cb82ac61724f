// Heartbeats of long activities.
import { Context } from '@temporalio/activity'

const beatEveryMs = 10_000

/** Heartbeats while it works, so that a dead worker is noticed within a minute; a cancelled one stops at the next beat. */
export const beating = async <T>(work: (beat: () => void) => Promise<T>): Promise<T> => {
  const { heartbeat, cancellationSignal } = Context.current()
  const timer = setInterval(() => heartbeat(), beatEveryMs)
  try {
    return await work(() => {
      heartbeat()
      cancellationSignal.throwIfAborted()
    })
  } finally {
    clearInterval(timer)
  }
}
