// Uniqueness of active certificates (contract 5.4 check 12) inside the storing transaction, where it cannot be raced.
import type { EntityManager } from '@mikro-orm/postgresql'
import { latestActive } from '../../storage/issue-facts.ts'
import type { ReadyRequest } from './sign.ts'

const keyOf = ({ request }: ReadyRequest): string => `${request.policyId}/${request.endEntityId}`

const lock = async (em: EntityManager, keys: readonly string[]): Promise<void> => {
  for (const key of [...new Set(keys)].toSorted())
    await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 12))', [key])
}

const wasOvertaken = async (em: EntityManager, { open, request }: ReadyRequest): Promise<boolean> => {
  const { policyId, endEntityId } = request
  const latest = (await latestActive(em, policyId, [endEntityId])).get(endEntityId)
  return latest !== undefined && latest.getTime() > (open.latestActive?.getTime() ?? 0)
}

/** The requests whose policy allows one active certificate and for which another run, or this one, just made it. */
export const overtakenIn = async (
  em: EntityManager,
  candidates: readonly ReadyRequest[],
): Promise<ReadonlySet<string>> => {
  const guarded = candidates.filter(({ open }) => open.asked.policy.enforceActiveCertUniqueness)
  await lock(em, guarded.map(keyOf))
  const taken = new Set<string>()
  const overtaken = new Set<string>()
  for (const one of guarded) {
    const key = keyOf(one)
    if (taken.has(key) || (await wasOvertaken(em, one))) overtaken.add(one.request.id)
    taken.add(key)
  }
  return overtaken
}
