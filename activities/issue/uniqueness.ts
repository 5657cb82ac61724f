// Uniqueness of active certificates (contract 5.4 check 12) inside the storing transaction, where it cannot be raced.
import type { EntityManager } from '@mikro-orm/postgresql'
import { latestActive } from '../../storage/issue-facts.ts'
import { takeKeyedLocks } from '../../storage/lock.ts'
import type { Dossier } from '../../authority/request-case.ts'

interface Candidate {
  readonly dossier: Dossier
}

const keyOf = ({ policy, endEntity }: Dossier): string => `${policy.id}/${endEntity.id}`

const wasOvertaken = async (
  em: EntityManager,
  { policy, endEntity, latestActive: seen }: Dossier,
  now: Date,
): Promise<boolean> => {
  const latest = (await latestActive(em, policy.id, { endEntityIds: [endEntity.id], now })).get(endEntity.id)
  return latest !== undefined && latest.getTime() > (seen?.getTime() ?? 0)
}

/** The requests whose policy allows one active certificate and for which another run, or this one, just made it. */
export const findDoubles = async (
  em: EntityManager,
  candidates: readonly Candidate[],
  now: Date,
): Promise<ReadonlySet<string>> => {
  const guarded = candidates.filter(({ dossier }) => dossier.policy.enforceActiveCertUniqueness)
  await takeKeyedLocks(
    em,
    'ACTIVE_CERTIFICATE',
    guarded.map(({ dossier }) => keyOf(dossier)),
  )
  const taken = new Set<string>()
  const doubles = new Set<string>()
  for (const { dossier } of guarded) {
    const key = keyOf(dossier)
    if (taken.has(key) || (await wasOvertaken(em, dossier, now))) doubles.add(dossier.request.id)
    taken.add(key)
  }
  return doubles
}
