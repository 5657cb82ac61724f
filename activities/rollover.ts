// The rollover of a provider's CA, as far as its time has come.
import { advanceRollover } from '../authority/rollover.ts'
import { beating } from './beating.ts'
import type { Services } from './services.ts'

/** How far a rollover is. */
export interface Advanced {
  /** The CA that takes over at that date (ISO 8601); null: there is nothing to wait for. */
  readonly nextCaId: string | null
  readonly takeOverDate: string | null
}

/** Making the next CA, and letting it take over. */
export const rolloverActivities = (services: Services) => ({
  /** Idempotency key: what the record of the provider says; a CA that is made is not made again. */
  advanceRollover: ({ providerId }: { readonly providerId: string }): Promise<Advanced> =>
    beating(async () => {
      const made = await services.orm.em.fork().transactional(em => advanceRollover(em, services, providerId))
      return { nextCaId: made.nextCaId, takeOverDate: made.takeOverDate?.toISOString() ?? null }
    }),
})
