// How much one address, and all together, may ask of the gateway at once.
import pLimit from 'p-limit'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { networkOf } from '../domain/network.ts'

/** Asked again later: by one address too often, or by all together. */
export class TooMany extends Error {
  override readonly name = 'TooMany'
  readonly status: 429 | 503
  readonly retryAfterSeconds: number

  constructor(status: 429 | 503, retryAfterSeconds: number) {
    super('too many requests')
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Messages are read and written one after the other anyway; what waits for the service beside that is memory. */
const atOnce = 128
const mostWaiting = 512
const windowSeconds = 60

/** The limits of a process; TooMany. */
export interface Limits {
  /** Counts a request of an address. */
  readonly consume: (address: string) => Promise<void>
  /** Works on a message that was read to its end, when there is place: whoever sends slowly keeps nobody from it. */
  readonly inPlace: <T>(work: () => Promise<T>) => Promise<T>
}

/** Makes the limits: so many requests a minute of each address, 0 for as many as come. */
export const limits = (perMinute: number): Limits => {
  const limiter = perMinute > 0 ? new RateLimiterMemory({ points: perMinute, duration: windowSeconds }) : undefined
  const places = pLimit(atOnce)
  return {
    consume: async address => {
      await limiter?.consume(networkOf(address)).catch((error: unknown) => {
        if (!(error instanceof RateLimiterRes)) throw error
        throw new TooMany(429, Math.max(1, Math.ceil(error.msBeforeNext / 1000)))
      })
    },
    inPlace: async work => {
      if (places.pendingCount >= mostWaiting) throw new TooMany(503, 5)
      return places(work)
    },
  }
}
