// Uniqueness of active certificates (contract 5.4 check 12) inside the storing transaction, where it cannot be raced.
import type { EntityManager } from '@mikro-orm/postgresql'
import { latestBeside } from '../../storage/issue-facts.ts'
import type { ReadyRequest } from './sign.ts'

const keyOf = ({ request: { policyId, endEntity } }: ReadyRequest): string => `${policyId}/${endEntity.id}`

/** Whether the policy of a request allows one active certificate at a time. */
export const isGuarded = ({ open }: ReadyRequest): boolean => open.asked.policy.enforceActiveCertUniqueness

/** The keys under which the ACTIVE_CERTIFICATE locks are taken for those whose policy allows one active certificate. */
export const uniquenessLocks = (candidates: readonly ReadyRequest[]): string[] =>
  candidates.filter(isGuarded).map(keyOf)

/**
 * The requests whose policy allows one active certificate and for which another run, or this one, just made it; the
 * transaction holds their locks.
 */
export const overtakenIn = async (
  em: EntityManager,
  candidates: readonly ReadyRequest[],
  now: Date,
): Promise<ReadonlySet<string>> => {
  const guarded = candidates.filter(isGuarded)
  const latest = await latestBeside(
    em,
    guarded.map(({ request }) => request.id),
    now,
  )
  const taken = new Set<string>()
  const overtaken = new Set<string>()
  for (const one of guarded) {
    const { open, request } = one
    const [key, made] = [keyOf(one), latest.get(request.id)]
    const isLate = made !== undefined && made.getTime() > (open.latestActive?.getTime() ?? 0)
    if (taken.has(key) || isLate) overtaken.add(request.id)
    taken.add(key)
  }
  return overtaken
}
