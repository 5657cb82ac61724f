// Carrying out the rollover of a provider (contract 10.6), as far as its time has come, in the caller's transaction.
import type { EntityManager } from '@mikro-orm/postgresql'
import { record } from '../storage/audit.ts'
import { findLocked } from '../storage/lock.ts'
import { noteNextCa } from '../storage/provider-facts.ts'
import { Ca } from '../storage/rows/ca.ts'
import { CertificateProvider } from '../storage/rows/certificate-provider.ts'
import { kindOf } from './providers/kinds.ts'
import type { AuthorityServices } from './services.ts'

/** How far a rollover is. */
export interface RolloverProgress {
  /** The CA that takes over, once it is made; null when there is nothing to do any more. */
  readonly nextCaId: string | null
  /** When it takes over. */
  readonly takeOverDate: Date | null
}

const done: RolloverProgress = { nextCaId: null, takeOverDate: null }

/** The next CA of a locked provider, made now when it is not there. */
const nextCa = async (em: EntityManager, services: AuthorityServices, provider: CertificateProvider): Promise<Ca> => {
  const { rollover } = kindOf(provider)
  if (!provider.nextIssuingCaId && rollover) {
    await noteNextCa(em, provider.id, await rollover.make(em, services, provider))
    await em.refresh(provider)
  }
  return em.findOneOrFail(Ca, { id: provider.nextIssuingCaId ?? '' })
}

const takeOver = async (
  em: EntityManager,
  { provider, next, now }: { readonly provider: CertificateProvider; readonly next: Ca; readonly now: Date },
): Promise<void> => {
  const former = await em.findOneOrFail(Ca, { id: provider.issuingCaId ?? '' })
  former.succeededDate = now
  provider.settings = { ...provider.settings, ...provider.rollover?.members }
  Object.assign(provider, { issuingCaId: next.id, nextIssuingCaId: null, rollover: null })
  const what = `CA ${next.subjectDn} of provider ${provider.name} took over from ${former.subjectDn}`
  record(em, { type: 'ROLLOVER_DONE', objectId: provider.id, what })
}

/**
 * Makes the next CA of a provider when it is not there, and lets it take over when its time has come. A second call changes
 * nothing; neither does one for a provider that plans no rollover.
 */
export const advanceRollover = async (
  em: EntityManager,
  services: AuthorityServices,
  providerId: string,
): Promise<RolloverProgress> => {
  const provider = await findLocked(em, CertificateProvider, providerId)
  if (!provider?.rollover) return done
  const next = await nextCa(em, services, provider)
  const { takeOverDate } = provider.rollover
  const now = services.clock()
  const date = takeOverDate === null ? now : new Date(takeOverDate)
  if (date > now) return { nextCaId: next.id, takeOverDate: date }
  await takeOver(em, { provider, next, now })
  return done
}
