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
const atOnce = 64
const mostWaiting = 512
const windowSeconds = 60

/** Lets a message of an address in, when there is place; none is held while it is still received. */
export type Admit = <M, T>(address: string, receive: () => Promise<M>, work: (message: M) => Promise<T>) => Promise<T>

/** Makes the limits of a process: so many messages a minute of each address, 0 for as many as come. */
export const limits = (perMinute: number): Admit => {
  const limiter = perMinute > 0 ? new RateLimiterMemory({ points: perMinute, duration: windowSeconds }) : undefined
  const places = pLimit(atOnce)
  return async (address, receive, work) => {
    await limiter?.consume(networkOf(address)).catch((error: unknown) => {
      if (!(error instanceof RateLimiterRes)) throw error
      throw new TooMany(429, Math.max(1, Math.ceil(error.msBeforeNext / 1000)))
    })
    const message = await receive()
    if (places.pendingCount >= mostWaiting) throw new TooMany(503, 5)
    return places(() => work(message))
  }
}
