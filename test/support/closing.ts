// What a test opens is closed after it, also when it fails: a forgotten server would keep jest from ending.
import type { afterEach } from '@jest/globals'

/** A server, a process, a folder: whatever has an end. Ending it twice is nothing. */
interface Closable {
  readonly stop: () => Promise<unknown>
}

/** Answers how to hand over what is to be closed in that hook, the last one first; whatever fails then, all are closed. */
export const closing = (hook: typeof afterEach) => {
  const open: Closable[] = []
  hook(async () => {
    const errors: unknown[] = []
    for (const one of open.splice(0).toReversed()) await one.stop().catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw new AggregateError(errors, 'Not everything could be closed.')
  })
  return <T extends Closable>(one: T): T => {
    open.push(one)
    return one
  }
}
