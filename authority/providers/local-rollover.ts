// The next CA of a LOCAL provider (contract 10.6): made beside the one of today, or taken back; each in one transaction.
import type { EntityManager } from '@mikro-orm/postgresql'
import { retireCa, revokeCa } from '../../storage/ca-keys.ts'
import { retireOcspSigner } from '../../storage/ocsp.ts'
import { Ca } from '../../storage/rows/ca.ts'
import type { CertificateProvider } from '../../storage/rows/certificate-provider.ts'
import { issueCrls } from '../crl.ts'
import { linksBelow } from '../links.ts'
import { makeOcspSigner } from '../ocsp-signers.ts'
import type { AuthorityServices } from '../services.ts'
import { openCaSigner } from '../signers.ts'
import { makeHierarchy, makeIssuingCa, type HierarchyPlan } from './local-ca.ts'
import { completeLocal } from './local-configuration.ts'
import type { Rollover } from './provider.ts'
import { planRollover } from './rollover-plan.ts'

/** How the CAs of a provider are made. */
export const hierarchyPlan = (
  em: EntityManager,
  services: AuthorityServices,
  { id, name, settings, rollover }: CertificateProvider,
): HierarchyPlan => ({
  em,
  seal: services.seal,
  configuration: completeLocal(name, { ...settings, ...rollover?.members }),
  providerId: id,
  now: services.clock(),
  urlsBelow: caId => linksBelow(services, caId),
})

/** Makes what is asked for of a new CA, and of its root: a first list, and a signer of OCSP answers. */
export const makeAnswering = async (
  em: EntityManager,
  services: AuthorityServices,
  { id, issuerCaId }: Ca,
): Promise<void> => {
  for (const caId of [id, ...(issuerCaId ? [issuerCaId] : [])]) {
    await issueCrls(em, services, caId)
    await makeOcspSigner(em, services, caId)
  }
}

const make: Rollover['make'] = async (em, services, provider) => {
  const plan = hierarchyPlan(em, services, provider)
  const { issuerCaId } = await em.findOneOrFail(Ca, { id: provider.issuingCaId ?? '' })
  const root = provider.rollover?.newRoot ? null : issuerCaId
  const next = await (root ? makeIssuingCa(plan, await openCaSigner(em, services.seal, root)) : makeHierarchy(plan))
  await em.flush()
  await makeAnswering(em, services, next)
  return next.id
}

/** The CA and a root that was made with it; one that is there for others stays. */
const generation = async (em: EntityManager, caId: string): Promise<Ca[]> => {
  const ca = await em.findOneOrFail(Ca, { id: caId })
  const root = ca.issuerCaId ? await em.findOne(Ca, { id: ca.issuerCaId }) : null
  const others = root ? await em.count(Ca, { issuerCaId: root.id, id: { $ne: caId } }) : 0
  return root && others === 0 ? [ca, root] : [ca]
}

const abandon: Rollover['abandon'] = async (em, { clock }, caId) => {
  const now = clock()
  const gone = await generation(em, caId)
  for (const ca of gone) {
    await retireOcspSigner(em, ca.id, now)
    await revokeCa(em, ca, now)
    await retireCa(em, ca, now)
  }
  const ids = new Set(gone.map(({ id }) => id))
  return gone.flatMap(({ issuerCaId }) => (issuerCaId && !ids.has(issuerCaId) ? [issuerCaId] : []))
}

/** The rollover of LOCAL. */
export const rollover: Rollover = { plan: planRollover, make, abandon }
