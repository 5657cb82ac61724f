// Revocation lists: made one at a time for each CA, and asked for when they are due.
import { issueCrl } from '../authority/crl.ts'
import { dueCas } from '../storage/crls.ts'
import { crlRun } from '../workflows/starts.ts'
import { beating } from './beating.ts'
import type { Services } from './services.ts'

/** The list of a CA. */
export interface IssuedCrl {
  readonly number: number
  readonly entries: number
  readonly nextUpdate: string
  /** Whether something was recorded meanwhile that it does not tell. */
  readonly due: boolean
}

const issue = (services: Services, caId: string): Promise<IssuedCrl> =>
  beating(async () => {
    const made = await services.orm.em.fork().transactional(em => issueCrl(em, services, caId))
    const [due] = await dueCas(services.orm.em.fork(), services.clock(), caId)
    const { number, entries, nextUpdate } = made
    return { number, entries, nextUpdate: nextUpdate.toISOString(), due: due !== undefined }
  })

/** Asking for the lists that are due. */
export const crlRecords = (services: Services) => ({
  /** Idempotency key: the workflow id of the run of each list; one that is there already is left alone. */
  startDueCrls: async (): Promise<{ started: number }> => {
    const started: boolean[] = []
    for (const caId of await dueCas(services.orm.em.fork(), services.clock()))
      started.push(await services.runs.start(crlRun(caId)))
    return { started: started.filter(Boolean).length }
  },
})

/** Making lists. */
export const crlActivities = (services: Services) => ({
  /** Idempotency key: what the records say; a list that is not due is answered, not made again. */
  issueCrl: ({ caId }: { readonly caId: string }): Promise<IssuedCrl> => issue(services, caId),
})
