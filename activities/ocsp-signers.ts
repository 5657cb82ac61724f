// The signers of OCSP answers, made one at a time for each CA, and asked for when they are due.
import { casWithoutOcspSigner, makeOcspSigner } from '../authority/ocsp-signers.ts'
import { ocspSignerRun } from '../workflows/starts.ts'
import { beating } from './beating.ts'
import type { Services } from './services.ts'

/** Asking for the signers that are due. */
export const ocspSignerRecords = (services: Services) => ({
  /** Idempotency key: the workflow id of the run of each signer; one that is there already is left alone. */
  startDueOcspSigners: async (): Promise<{ started: number }> => {
    const started: boolean[] = []
    for (const caId of await casWithoutOcspSigner(services.orm.em.fork(), services.clock()))
      started.push(await services.runs.start(ocspSignerRun(caId)))
    return { started: started.filter(Boolean).length }
  },
})

/** Making signers. */
export const ocspSignerActivities = (services: Services) => ({
  /** Idempotency key: what the records say; where no signer is due nothing is made. */
  makeOcspSigner: ({ caId }: { readonly caId: string }): Promise<void> =>
    beating(() => services.orm.em.fork().transactional(em => makeOcspSigner(em, services, caId))),
})
