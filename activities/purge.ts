// Deleting archived resources (contract 4.5), a bounded part at a time: what is deleted, recorded and counted is ONE
// transaction, so that a crash at any moment loses and doubles nothing.
import pLimit from 'p-limit'
import { deletePart, nextPart, purgeProgress, type PurgeProgress } from '../storage/purging.ts'
import { certRequestWorkflowId } from '../workflows/ids.ts'
import { beating } from './beating.ts'
import type { Services } from './services.ts'

/** So many runs are ended at once. */
const endsAtOnce = 16

const deleteNext = async ({ orm, runs, clock }: Services, purgeId: string): Promise<PurgeProgress> => {
  const part = await nextPart(orm.em.fork(), purgeId, clock())
  if (part) {
    // Before their requests go: afterwards nobody would know of them.
    await pLimit(endsAtOnce).map(part.waitingIds, id => runs.end(certRequestWorkflowId(id)))
    await deletePart(orm.em.fork(), purgeId, { part, now: clock() })
  }
  return purgeProgress(orm.em.fork(), purgeId)
}

export const purgeActivities = (services: Services) => ({
  /** Idempotency key: each resource of the purge; what is gone is neither recorded nor counted again. */
  purgePart: ({ purgeId }: { readonly purgeId: string }): Promise<PurgeProgress> =>
    beating(() => deleteNext(services, purgeId)),
})
