// Signers of policies, made one at a time for each policy.
import { makePolicySigner } from '../authority/making-signers.ts'
import type { SignerKind } from '../domain/signer-rules.ts'
import { beating } from './beating.ts'
import type { Services } from './services.ts'

/** A signer that may have to be made. */
export interface SignerToMake {
  readonly policyId: string
  readonly kind?: SignerKind
}

/** Making signers. */
export const signerActivities = (services: Services) => ({
  /** Idempotency key: what the records say; where no signer is due nothing is made. Runs of before name no kind. */
  makeSigner: ({ policyId, kind = 'SCEP' }: SignerToMake): Promise<void> =>
    beating(() => makePolicySigner(services.orm.em.fork(), services, { policyId, kind })),
})
