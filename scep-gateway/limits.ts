// How much one address, and all together, may ask of the gateway at once.
import pLimit, { type LimitFunction } from 'p-limit'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { networkOf } from '../domain/network.ts'

/** Asked again later: by one address too often, or by all together. */
export class TooMany extends Error {
  override readonly name = 'TooMany'
  readonly status: 429 | 503
  readonly retryAfterSeconds: number
  /** Whether this address was refused before in the same minute. */
  readonly isRepeated: boolean

  constructor(status: 429 | 503, retryAfterSeconds: number, isRepeated = false) {
    super('too many requests')
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
    this.isRepeated = isRepeated
  }
}

/** Messages are read and written one after the other anyway; what waits for the service beside that is memory. */
const atOnce = 128
const mostWaiting = 512
/** Of one address: so much that one which brings all of its messages at once leaves the service to others. */
const atOnceOfOne = 16
const mostOfOne = 128
const windowSeconds = 60
const soonSeconds = 5

type InPlace = <T>(address: string, work: () => Promise<T>) => Promise<T>

/** The limits of a process; TooMany. */
export interface Limits {
  /** Counts a request of an address. */
  readonly consume: (address: string) => Promise<void>
  /** Works on a message that was read to its end, when there is place: whoever sends slowly keeps nobody from it. */
  readonly inPlace: InPlace
}

/** A line for each address. */
const linesOf = (): InPlace => {
  const lines = new Map<string, { readonly line: LimitFunction; messages: number }>()
  return async (address, work) => {
    const network = networkOf(address)
    const own = lines.get(network) ?? { line: pLimit(atOnceOfOne), messages: 0 }
    if (own.messages >= mostOfOne) throw new TooMany(429, soonSeconds)
    own.messages++
    lines.set(network, own)
    try {
      return await own.line(work)
    } finally {
      own.messages--
      if (own.messages === 0) lines.delete(network)
    }
  }
}

/** Makes the limits: so many requests a minute of each address, 0 for as many as come, and as many at a time. */
export const limits = (perMinute: number): Limits => {
  const limiter = perMinute > 0 ? new RateLimiterMemory({ points: perMinute, duration: windowSeconds }) : undefined
  const inLine: InPlace = limiter ? linesOf() : (_, work) => work()
  const places = pLimit(atOnce)
  let messages = 0
  return {
    consume: async address => {
      await limiter?.consume(networkOf(address)).catch((error: unknown) => {
        if (!(error instanceof RateLimiterRes)) throw error
        const seconds = Math.max(1, Math.ceil(error.msBeforeNext / 1000))
        throw new TooMany(429, seconds, error.consumedPoints > perMinute + 1)
      })
    },
    inPlace: async (address, work) => {
      if (messages >= atOnce + mostWaiting) throw new TooMany(503, soonSeconds)
      messages++
      try {
        return await inLine(address, () => places(work))
      } finally {
        messages--
      }
    },
  }
}
