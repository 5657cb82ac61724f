// Slow work of the crypto library, in a line of its own. It runs in the threads that also check the signatures of tokens
// (libuv has four): so few run at once that some threads are always free, the others wait, and nobody waits for ever.
import pLimit from 'p-limit'
import { RateLimited } from './rate-limit.ts'

/** How much slow work there may be. */
export interface WorkBounds {
  /** Works that run at the same time. */
  readonly atOnce: number
  /** Works that wait for them; one caller has at most half of the places. */
  readonly waiting: number
}

/** The bounds where nothing is configured. */
export const defaultBounds: WorkBounds = { atOnce: 2, waiting: 32 }

/**
 * The same for the hashing of passwords, a line beside it: with it three of the four threads are taken at most. One work is
 * short (storage/verifier.ts), so that the last of so many that wait has its turn within seconds.
 */
export const defaultPasswordBounds: WorkBounds = { atOnce: 1, waiting: 512 }

/** The same for long MACs of CMP, each in a thread that it is made for: seconds of one core at the most. */
export const defaultMacBounds: WorkBounds = { atOnce: 1, waiting: 16 }

/** Runs the work of a caller when its turn comes; RATE_LIMITED when the line is full. */
export type Pool = <T>(caller: string, work: () => Promise<T>) => Promise<T>

/** About how long it takes until a place is free. */
const retryAfterSeconds = 5

const full = 'Too much slow work waits already.'

/** Makes the line of a process. */
export const workPool = ({ atOnce, waiting }: WorkBounds = defaultBounds): Pool => {
  const limit = pLimit(atOnce)
  const held = new Map<string, number>()
  const change = (caller: string, by: 1 | -1): void => {
    const count = (held.get(caller) ?? 0) + by
    if (count === 0) held.delete(caller)
    else held.set(caller, count)
  }
  const hasPlace = (caller: string): boolean =>
    limit.activeCount + limit.pendingCount < atOnce + waiting && (held.get(caller) ?? 0) < atOnce + waiting / 2
  return async (caller, work) => {
    if (!hasPlace(caller)) throw new RateLimited(retryAfterSeconds, full)
    change(caller, 1)
    return limit(work).finally(() => change(caller, -1))
  }
}
