// Recording the expiry of certificates (contract 4.3).
import { recordExpired } from '../storage/expiries.ts'
import type { Services } from './services.ts'

/** Certificates in one transaction: about a second of work. */
const chunkSize = 1000

/** What one transaction recorded, and whether there may be more. */
export interface ExpiryChunk {
  readonly recorded: number
  readonly more: boolean
}

export const expiryActivities = ({ orm, clock }: Services) => ({
  /** Idempotency key: the certificate; the mark that it has its event is set in the transaction of the event. */
  recordExpiries: async (): Promise<ExpiryChunk> => {
    const recorded = await recordExpired(orm.em.fork(), clock(), chunkSize)
    return { recorded, more: recorded === chunkSize }
  },
})
