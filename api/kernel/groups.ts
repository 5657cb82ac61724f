// Group commit: what is asked for while groups are under way is done together by the next one. Who is alone begins at once; who
// is in company waits a moment for the others, who would else fill the next group while this one is of one alone.
import { setTimeout as after } from 'node:timers/promises'

/** What somebody asked for, and the way to answer him before his whole group is through. */
export interface Asked<T, R> {
  readonly item: T
  readonly answer: (result: R) => void
}

/** How groups are made. */
export interface GroupOptions<T, R> {
  /** So many are under way at once. */
  readonly atOnce: number
  /** A group is of at most so many. */
  readonly size: number
  /** At most so long the first in line waits for others while there is company. */
  readonly gatherMs: number
  /** One that takes longer does not keep the next one from beginning. */
  readonly patienceMs: number
  /** Does it for all of a group and answers each; who is left without an answer is told an error. */
  readonly work: (group: readonly Asked<T, R>[]) => Promise<void>
}

/** The place of somebody in the line. */
export interface Place<R> {
  readonly result: Promise<R>
  /** Leaves the line; answers false where it has begun already. */
  readonly leave: () => boolean
}

interface Waiting<T, R> extends Asked<T, R> {
  readonly refuse: (reason: unknown) => void
}

/** Who is in company waits for this part of what the last group took. */
const gatheringShare = 4

/** A line of those who wait for the same kind of work. */
export class Groups<T, R> {
  readonly #options: GroupOptions<T, R>
  /** By who asks; the first of them is the next. */
  readonly #lines = new Map<string, Waiting<T, R>[]>()
  #underWay = 0
  #waiting = 0
  /** How long the last group took. */
  #tookMs = Infinity
  /** When those in line have gathered. */
  #gatheredAt = 0
  /** Until when those of the last group of several are likely to come back. */
  #companyUntil = 0
  #isToBeLookedAtAgain = false

  constructor(options: GroupOptions<T, R>) {
    this.#options = options
  }

  /** Asks for it in the name of `who`: those who ask have their turns, however much each of them asks for. */
  ask(who: string, item: T): Place<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    // Whoever has gone away hears nothing.
    promise.catch(() => {})
    const one: Waiting<T, R> = { item, answer: resolve, refuse: reject }
    if (this.#waiting === 0) this.#gatheredAt = performance.now() + this.#gatherMs()
    this.#lines.set(who, [...(this.#lines.get(who) ?? []), one])
    this.#waiting += 1
    this.#beginWhatMay()
    return { result: promise, leave: () => this.#leave(who, one) }
  }

  #leave(who: string, one: Waiting<T, R>): boolean {
    const line = this.#lines.get(who) ?? []
    const others = line.filter(other => other !== one)
    if (others.length > 0) this.#lines.set(who, others)
    else this.#lines.delete(who)
    this.#waiting -= line.length - others.length
    return others.length < line.length
  }

  /** What others save who come with him is worth a share of what a group takes; alone nobody waits. */
  #gatherMs(): number {
    const isInCompany = this.#underWay > 0 || performance.now() < this.#companyUntil
    return isInCompany ? Math.min(this.#options.gatherMs, this.#tookMs / gatheringShare) : 0
  }

  #beginWhatMay(): void {
    while (this.#underWay < this.#options.atOnce && this.#waiting > 0) {
      if (!this.#haveGathered()) return
      void this.#begin(this.#nextGroup())
    }
  }

  /** Whether a group may begin; else it is looked at again in time. */
  #haveGathered(): boolean {
    const leftMs = this.#gatheredAt - performance.now()
    if (leftMs <= 0 || this.#waiting >= this.#options.size) return true
    if (!this.#isToBeLookedAtAgain) setTimeout(() => this.#lookAgain(), leftMs)
    this.#isToBeLookedAtAgain = true
    return false
  }

  #lookAgain(): void {
    this.#isToBeLookedAtAgain = false
    this.#beginWhatMay()
  }

  /** One of each in turn. */
  #nextGroup(): Waiting<T, R>[] {
    const group: Waiting<T, R>[] = []
    for (const [who, line] of this.#lines) {
      if (group.length === this.#options.size) break
      const [first, ...others] = line
      this.#lines.delete(who)
      // Set again it comes last, and this loop comes to it once more.
      if (others.length > 0) this.#lines.set(who, others)
      if (first) group.push(first)
    }
    this.#waiting -= group.length
    return group
  }

  async #begin(group: readonly Waiting<T, R>[]): Promise<void> {
    this.#underWay += 1
    const began = performance.now()
    const done = new AbortController()
    const patience = after(this.#options.patienceMs, undefined, { signal: done.signal, ref: false }).catch(() => {})
    const work = this.#work(group).finally(() => done.abort())
    await Promise.race([work, patience])
    this.#underWay -= 1
    const now = performance.now()
    this.#tookMs = now - began
    if (group.length > 1) this.#companyUntil = now + this.#tookMs
    this.#beginWhatMay()
  }

  async #work(group: readonly Waiting<T, R>[]): Promise<void> {
    const left = (reason: unknown): void => group.forEach(one => one.refuse(reason))
    await this.#options.work(group).then(() => left(new Error('The work ended without an answer.')), left)
  }
}
