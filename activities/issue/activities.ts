// What the issuing workflows call: a chunk of requests issued, with heartbeats while it works.
import type { OrderedRequest } from '../../domain/order-story.ts'
import { countRunning, readyItems } from '../../storage/order-items.ts'
import { orderStory } from '../../storage/order-story.ts'
import type { ItemOutcome } from '../../workflows/issue-certificates.ts'
import { beating } from '../beating.ts'
import { issueChunk, type IssueRun } from './chunk.ts'
import type { Services } from '../services.ts'

/** What a part of an order came to. */
export interface Progress {
  readonly issued: number
  /** Items (of the part, or of the whole order) that still wait for a decision. */
  readonly waiting: number
  /** What became of each request of a small order so far, where something waits or was decided. */
  readonly story?: OrderedRequest[] | undefined
}

const issuedOf = (outcomes: readonly ItemOutcome[]): number =>
  outcomes.filter(({ certificateId }) => certificateId).length

/** Making keys, signing and storing. */
export const issueActivities = (services: Services) => {
  const issueItems = async (
    orderId: string,
    range: { from: number; to: number } | { certRequestIds: readonly string[] },
  ): Promise<number> => {
    const certRequestIds = await readyItems(services.orm.em.fork(), orderId, range)
    return issuedOf(await beating(beat => issueChunk(services, { runId: orderId, certRequestIds }, beat)))
  }
  /** How an order stands that waits; its first part tells of the whole. */
  const standing = async (orderId: string, range?: { from: number; to: number }): Promise<Omit<Progress, 'issued'>> => {
    const em = services.orm.em.fork()
    const waiting = await countRunning(em, orderId, range)
    if (range && (range.from > 0 || waiting === 0)) return { waiting }
    return { waiting, story: await orderStory(em, orderId) }
  }
  return {
    /** Idempotency key: each certificate request; one with a certificate is answered, not issued again. */
    issueChunk: (run: IssueRun): Promise<ItemOutcome[]> => beating(beat => issueChunk(services, run, beat)),
    /** Idempotency key: each certificate request of the positions `from` to `to` of the order. */
    issueOrderItems: async ({
      orderId,
      from,
      to,
    }: {
      orderId: string
      from: number
      to: number
    }): Promise<Progress> => {
      const issued = await issueItems(orderId, { from, to })
      return { issued, ...(await standing(orderId, { from, to })) }
    },
    /** Idempotency key: each of these certificate requests. */
    issueDecided: async (input: { orderId: string; certRequestIds: string[] }): Promise<Progress> => {
      const issued = await issueItems(input.orderId, { certRequestIds: input.certRequestIds })
      return { issued, ...(await standing(input.orderId)) }
    },
  }
}
