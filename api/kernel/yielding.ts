// Long work that yields to the event loop, and work that must not overlap in this process.
import { setImmediate } from 'node:timers/promises'

/** How long the event loop is kept at a time. */
const sliceMs = 10

/** Maps every item in order and yields to the event loop in between, so that other requests are served. */
export const mapYielding = async <T, R>(items: Iterable<T>, map: (item: T) => R): Promise<R[]> => {
  const results: R[] = []
  let end = performance.now() + sliceMs
  for (const item of items) {
    results.push(map(item))
    if (performance.now() < end) continue
    await setImmediate()
    end = performance.now() + sliceMs
  }
  return results
}

let last: Promise<unknown> = Promise.resolve()

/** Runs works of this process one after the other: those that would wait for a lock of the database hold no connection. */
export const serially = <T>(work: () => Promise<T>): Promise<T> => {
  const mine = last.then(work)
  last = mine.catch(() => undefined)
  return mine
}
