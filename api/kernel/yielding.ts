// Long work that yields to the event loop, and work that must not overlap in this process.
import { sorted, tried, type SortedOut } from '../../domain/batch.ts'

/** How long the event loop is kept at a time. */
const sliceMs = 10

const line: (() => void)[] = []

const callNext = (): void => {
  line.shift()?.()
  if (line.length > 0) setImmediate(callNext)
}

/** Waits until the event loop has looked at everything else; of several long works one goes on in each of its rounds. */
export const breathe = (): Promise<void> =>
  new Promise(resolve => {
    line.push(resolve)
    if (line.length === 1) setImmediate(callNext)
  })

/** Maps every item in order and yields to the event loop in between, so that other requests are served. */
export const mapYielding = async <T, R>(items: Iterable<T>, map: (item: T) => R): Promise<R[]> => {
  const results: R[] = []
  let end = performance.now() + sliceMs
  for (const item of items) {
    results.push(map(item))
    if (performance.now() < end) continue
    await breathe()
    end = performance.now() + sliceMs
  }
  return results
}

/** Tries every item of a batch as `sortOut` does, yielding to the event loop in between. */
export const sortOutYielding = async <T>(ids: readonly string[], judge: (id: string) => T): Promise<SortedOut<T>> => {
  const tryOne = tried(judge)
  return sorted(await mapYielding(ids.entries(), ([index, id]) => tryOne(id, index)))
}

let last: Promise<unknown> = Promise.resolve()

/** Runs works of this process one after the other: those that would wait for a lock of the database hold no connection. */
export const serially = <T>(work: () => Promise<T>): Promise<T> => {
  const mine = last.then(work)
  last = mine.catch(() => undefined)
  return mine
}
