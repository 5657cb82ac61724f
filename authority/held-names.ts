// What certificates of a policy hold of an end entity, for whoever judges its rules without a request (contract 5.5).
import type { EntityManager } from '@mikro-orm/postgresql'
import { asItIs, type Held } from '../domain/end-entity-rules.ts'
import { Failure } from '../domain/failure.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import type { Policy } from '../storage/rows/policy.ts'
import { termsOf } from './providers/kinds.ts'

/** What a certificate of the policy holds; the fields alone where its provider no longer has the template. */
export const heldUnder = async (em: EntityManager, policy: Policy): Promise<Held> => {
  const provider = await em.findOneOrFail(CertificateProvider, policy.certificateProviderId)
  try {
    return termsOf(provider, policy.certificateProviderConfiguration).held
  } catch (error) {
    if (error instanceof Failure) return asItIs
    throw error
  }
}
