// Uniqueness of active certificates (contract 5.4 check 12) inside the storing transaction, where it cannot be raced.
import type { EntityManager } from '@mikro-orm/postgresql'
import { latestActive } from '../../storage/issue-facts.ts'
import { takeKeyedLocks } from '../../storage/lock.ts'
import type { ReadyRequest } from './sign.ts'

const keyOf = ({ request }: ReadyRequest): string => `${request.policyId}/${request.endEntityId}`

const wasOvertaken = async (em: EntityManager, { open, request }: ReadyRequest, now: Date): Promise<boolean> => {
  const { policyId, endEntityId } = request
  const latest = (await latestActive(em, policyId, { endEntityIds: [endEntityId], now })).get(endEntityId)
  return latest !== undefined && latest.getTime() > (open.latestActive?.getTime() ?? 0)
}

/** The requests whose policy allows one active certificate and for which another run, or this one, just made it. */
export const overtakenIn = async (
  em: EntityManager,
  candidates: readonly ReadyRequest[],
  now: Date,
): Promise<ReadonlySet<string>> => {
  const guarded = candidates.filter(({ open }) => open.asked.policy.enforceActiveCertUniqueness)
  await takeKeyedLocks(em, 'ACTIVE_CERTIFICATE', guarded.map(keyOf))
  const taken = new Set<string>()
  const overtaken = new Set<string>()
  for (const one of guarded) {
    const key = keyOf(one)
    if (taken.has(key) || (await wasOvertaken(em, one, now))) overtaken.add(one.request.id)
    taken.add(key)
  }
  return overtaken
}
