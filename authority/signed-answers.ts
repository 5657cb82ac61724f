// OCSP answers that were signed, for as long as they may be given again: signing takes far longer than reading what is so.
const mostKept = 10_000

/** An answer that may be given again. */
export interface SignedAnswer {
  /** DER OCSPResponse. */
  readonly der: Buffer
  readonly thisUpdate: Date
  readonly nextUpdate: Date
}

/** So long after it was signed an answer is given again, of the hour that it is valid. */
const givenMs = 15 * 60_000

/** The answers of this process by what they tell; the oldest go first. */
export class SignedAnswers {
  readonly #kept = new Map<string, SignedAnswer>()

  /** The answer that tells this, unless it was signed too long ago. */
  find(key: string, now: Date): SignedAnswer | null {
    const answer = this.#kept.get(key)
    if (!answer) return null
    const age = now.getTime() - answer.thisUpdate.getTime()
    if (age >= 0 && age < givenMs && answer.nextUpdate > now) return answer
    this.#kept.delete(key)
    return null
  }

  keep(key: string, answer: SignedAnswer): void {
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= mostKept && oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(key, answer)
  }
}
