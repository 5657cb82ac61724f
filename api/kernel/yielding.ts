// Working through a long list without keeping other callers waiting.
import { setImmediate } from 'node:timers/promises'

/** The longest that others wait for their turn. */
const turnMs = 10

/** Maps every item in order; other work of this process goes on in between. */
export const mapInTurns = async <T, R>(items: Iterable<T>, judge: (item: T) => R): Promise<R[]> => {
  const results: R[] = []
  let end = performance.now() + turnMs
  for (const item of items) {
    results.push(judge(item))
    if (performance.now() < end) continue
    await setImmediate()
    end = performance.now() + turnMs
  }
  return results
}

let last: Promise<unknown> = Promise.resolve()

/** Runs works of this process one after the other, so that those who wait for a lock of the database hold no connection. */
export const afterOthers = <T>(work: () => Promise<T>): Promise<T> => {
  const mine = last.then(work)
  last = mine.catch(() => undefined)
  return mine
}
