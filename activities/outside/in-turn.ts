// Asking what certificates name: one address after the other within one time, and few certificates at once, since addresses
// that do not answer must not take the places of all other work.
import { Failure } from '../../domain/failure.ts'

/** So long all addresses of a certificate together may take (contract 10.3). */
const patienceMs = 10_000

/** What one of several addresses gave, or why none gave anything, which the caller may read. */
export type Found<T> =
  | { readonly found: T; readonly problem: null }
  | { readonly found: null; readonly problem: string }

/** How each address is asked, and what is told of one that failed; what has no sentence is thrown on. */
export interface Asking<T> {
  readonly ask: (asked: { readonly url: string; readonly ms: number }) => Promise<T>
  readonly sentenceOf: (url: string, error: unknown) => string
}

/** What the first address gives that can be believed; what is left of the time is shared by the addresses that are left. */
export const firstOf = async <T>(urls: readonly string[], { ask, sentenceOf }: Asking<T>): Promise<Found<T>> => {
  const end = performance.now() + patienceMs
  const problems: string[] = []
  for (const [index, url] of urls.entries()) {
    const ms = Math.max(1, Math.floor((end - performance.now()) / (urls.length - index)))
    try {
      return { found: await ask({ url, ms }), problem: null }
    } catch (error) {
      problems.push(sentenceOf(url, error))
    }
  }
  return { found: null, problem: problems.join(' ') }
}

/** Lets so many works go on at once in this process; SERVICE_UNAVAILABLE, with this message, to the others. */
export const places = (most: number, message: string) => {
  let taken = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (taken >= most) throw new Failure('SERVICE_UNAVAILABLE', message)
    taken += 1
    try {
      return await work()
    } finally {
      taken -= 1
    }
  }
}
