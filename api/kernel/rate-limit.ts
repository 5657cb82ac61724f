// How often a caller may ask for what costs CPU (contract 1.2). Each API process counts for itself, in memory: what is
// protected is the CPU of that process, so that with several of them a caller has so many calls at each.
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { Failure } from '../../domain/failure.ts'

/**
 * What makes a call dear: making keys, judging one, using a signer, many items, an import, judging by rules, a mail,
 * hashing a password, or that anybody may make it.
 */
export const costs = ['KEYS', 'CHECK', 'SIGNER', 'BATCH', 'IMPORT', 'SEARCH', 'MAIL', 'PASSWORD', 'PUBLIC'] as const

/** A kind of dear call. */
export type Cost = (typeof costs)[number]

/** The calls a minute that one caller may make of each kind; 0 or absent: as many as wanted. */
export type Rates = Partial<Readonly<Record<Cost, number>>>

/** RATE_LIMITED, and the seconds after which another call may be answered. */
export class RateLimited extends Failure {
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number, message?: string) {
    super('RATE_LIMITED', message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

const windowSeconds = 60

/** Counts one call of a caller, and refuses it with RATE_LIMITED when there were too many. */
export type Consume = (cost: Cost, caller: string) => Promise<void>

/** Makes the counters of a process. */
export const rateLimits = (rates: Rates = {}): Consume => {
  const limiters = new Map(
    costs
      .filter(cost => rates[cost])
      .map(cost => [cost, new RateLimiterMemory({ points: rates[cost] ?? 0, duration: windowSeconds })]),
  )
  return async (cost, caller) => {
    await limiters
      .get(cost)
      ?.consume(caller)
      .catch((error: unknown) => {
        if (!(error instanceof RateLimiterRes)) throw error
        throw new RateLimited(Math.max(1, Math.ceil(error.msBeforeNext / 1000)))
      })
  }
}
