// Revocation lists: made one at a time for each CA, and asked for when they are due.
import { findDueLists, issueCrl } from '../authority/crl.ts'
import { crlRun } from '../workflows/starts.ts'
import { beating } from './beating.ts'
import type { Services } from './services.ts'

/** The list of a CA that was made last. */
export interface IssuedCrl {
  readonly number: number
  readonly entries: number
  readonly nextUpdate: string
  /** Whether something was recorded meanwhile that it does not tell. */
  readonly due: boolean
}

const issue = (services: Services, caId: string): Promise<IssuedCrl> =>
  beating(async beat => {
    const due = () => findDueLists(services.orm.em.fork(), services, caId)
    const next = () => services.orm.em.fork().transactional(em => issueCrl(em, services, caId))
    // One transaction a list: each is published when it is made.
    const others = (await due()).length - 1
    let made = await next()
    for (let lists = 0; lists < others; lists += 1) {
      beat()
      made = await next()
    }
    const { number, entries, nextUpdate } = made
    return { number, entries, nextUpdate: nextUpdate.toISOString(), due: (await due()).length > 0 }
  })

/** Asking for the lists that are due. */
export const crlRecords = (services: Services) => ({
  /** Idempotency key: the workflow id of the run of each list; one that is there already is left alone. */
  startDueCrls: async (): Promise<{ started: number }> => {
    const started: boolean[] = []
    const due = await findDueLists(services.orm.em.fork(), services)
    for (const caId of new Set(due.map(list => list.caId))) started.push(await services.runs.start(crlRun(caId)))
    return { started: started.filter(Boolean).length }
  },
})

/** Making lists. */
export const crlActivities = (services: Services) => ({
  /** Idempotency key: what the records say; lists that are not due are not made again. */
  issueCrl: ({ caId }: { readonly caId: string }): Promise<IssuedCrl> => issue(services, caId),
})
