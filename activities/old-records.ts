// Removing records that have served.
import { removeOldRecords } from '../storage/old-records.ts'
import type { Services } from './services.ts'

const atOnce = 5000

export const oldRecordActivities = ({ orm, clock }: Services) => ({
  /** Idempotency: what is gone is gone. */
  removeOldRecords: async (): Promise<{ more: boolean }> => ({
    more: await removeOldRecords(orm.em.fork(), clock(), atOnce),
  }),
})
