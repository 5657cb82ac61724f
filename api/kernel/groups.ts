// Group commit: what is asked for while groups are under way is done together by the next one. Nobody waits for others to
// come: where there is room a group begins at once, of one if only one is there.
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

/** A line of those who wait for the same kind of work. */
export class Groups<T, R> {
  readonly #options: GroupOptions<T, R>
  /** By who asks; the first of them is the next. */
  readonly #lines = new Map<string, Waiting<T, R>[]>()
  #underWay = 0

  constructor(options: GroupOptions<T, R>) {
    this.#options = options
  }

  /** Asks for it in the name of `who`: those who ask have their turns, however much each of them asks for. */
  ask(who: string, item: T): Place<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>()
    // Whoever has gone away hears nothing.
    promise.catch(() => {})
    const one: Waiting<T, R> = { item, answer: resolve, refuse: reject }
    this.#lines.set(who, [...(this.#lines.get(who) ?? []), one])
    this.#beginWhatMay()
    return { result: promise, leave: () => this.#leave(who, one) }
  }

  #leave(who: string, one: Waiting<T, R>): boolean {
    const line = this.#lines.get(who) ?? []
    const others = line.filter(other => other !== one)
    if (others.length > 0) this.#lines.set(who, others)
    else this.#lines.delete(who)
    return others.length < line.length
  }

  #beginWhatMay(): void {
    while (this.#underWay < this.#options.atOnce && this.#lines.size > 0) void this.#begin(this.#nextGroup())
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
    return group
  }

  async #begin(group: readonly Waiting<T, R>[]): Promise<void> {
    this.#underWay += 1
    const done = new AbortController()
    const patience = after(this.#options.patienceMs, undefined, { signal: done.signal, ref: false }).catch(() => {})
    const work = this.#work(group).finally(() => done.abort())
    await Promise.race([work, patience])
    this.#underWay -= 1
    this.#beginWhatMay()
  }

  async #work(group: readonly Waiting<T, R>[]): Promise<void> {
    const left = (reason: unknown): void => group.forEach(one => one.refuse(reason))
    await this.#options.work(group).then(() => left(new Error('The work ended without an answer.')), left)
  }
}
