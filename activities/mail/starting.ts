// Starting the runs of mails after the commit of their event. One run carries the groups of a realm that are there together:
// a run for each would cost more than the issuing that it tells of.
import { carryGroups } from '../../storage/outbox.ts'
import { sendMailsRun, sendManyMailsRun, type Start } from '../../workflows/starts.ts'
import type { Services } from '../services.ts'

/** What queuing mails about something in a realm came to. */
export interface QueuedMails {
  readonly groupId: string | null
  readonly realmId: string | null
  /** Whether more may be added to it. */
  readonly gathers?: boolean
}

/** Behind a start the next ones wait so long, and go together. */
const pauseMs = 2000
/** So many runs start at once, each for a realm. */
const realmsAtOnce = 4
/** So many groups go in one run: their mails are about one chunk. */
const groupsAtOnce = 50

type Parts = Pick<Services, 'orm' | 'runs'> & {
  /** Told what could not be started; the reconciler starts it. */
  readonly warn: (text: string, meta: { readonly error: unknown; readonly [name: string]: unknown }) => void
}

/**
 * The groups of a process on their way to a run: a lone one goes at once, those that come in the pause behind it go together,
 * by realm. Nobody waits for a start, and what a crash leaves here is in the outbox.
 */
export class MailStarts {
  readonly #parts: Parts
  readonly #waiting = new Map<string | null, string[]>()
  readonly #underWay = new Set<Promise<void>>()
  #pause: NodeJS.Timeout | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Has the runs of these groups started soon, without waiting for it: who waits for the event must not wait for its mails. */
  add(queued: readonly QueuedMails[]): void {
    for (const { groupId, realmId, gathers = false } of queued) {
      if (groupId === null) continue
      if (gathers) this.#start([groupId], sendMailsRun(groupId, realmId, gathers))
      else this.#waiting.set(realmId, [...(this.#waiting.get(realmId) ?? []), groupId])
    }
    if (this.#pause === undefined) this.#depart()
  }

  /** Starts what waits, for a process that ends. */
  async end(): Promise<void> {
    while (this.#waiting.size > 0) this.#depart()
    await Promise.all(this.#underWay)
    clearTimeout(this.#pause)
  }

  /** The realms that wait longest first; of a realm with more groups than a run takes the rest waits on at the end. */
  #depart(): void {
    clearTimeout(this.#pause)
    this.#pause = undefined
    if (this.#waiting.size === 0) return
    this.#pause = setTimeout(() => this.#depart(), pauseMs).unref()
    for (const [realmId, groups] of [...this.#waiting].slice(0, realmsAtOnce)) {
      this.#waiting.delete(realmId)
      const rest = groups.slice(groupsAtOnce)
      if (rest.length > 0) this.#waiting.set(realmId, rest)
      const together = groups.slice(0, groupsAtOnce)
      this.#start(together, sendManyMailsRun(together, realmId))
    }
  }

  #start(groups: readonly string[], run: Start): void {
    const start = this.#carry(groups, run).finally(() => this.#underWay.delete(start))
    this.#underWay.add(start)
  }

  /** Who carries them is written before the run starts: whatever dies in between, no second run gets them. */
  async #carry(groups: readonly string[], run: Start): Promise<void> {
    const { orm, runs, warn } = this.#parts
    const [first = '', ...others] = groups
    try {
      if (others.length > 0) await carryGroups(orm.em.fork(), first, groups)
      await runs.start(run)
    } catch (error) {
      warn('a run of mails was not started', { groupId: first, groups: groups.length, error })
    }
  }
}
