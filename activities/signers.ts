// Signers of policies, made one at a time for each policy.
import { makePolicySigner } from '../authority/making-signers.ts'
import { beating } from './beating.ts'
import type { Services } from './services.ts'

/** Making signers. */
export const signerActivities = (services: Services) => ({
  /** Idempotency key: what the records say; where no signer is due nothing is made. */
  makeSigner: ({ policyId }: { readonly policyId: string }): Promise<void> =>
    beating(() => makePolicySigner(services.orm.em.fork(), services, policyId)),
})
