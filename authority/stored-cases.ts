// The cases of stored requests that are to be issued: many at once, by two statements and one more for their keys.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { IssueRequest, Owner } from '../storage/issue-reading.ts'
import { surroundingsOf } from '../storage/policy-surroundings.ts'
import { keyAskedBy, openKeys, type OpenCase } from './request-case.ts'

/** Opens the cases of these requests, in their order. */
export const openStored = async (
  em: EntityManager,
  requests: readonly IssueRequest[],
  now: Date,
): Promise<OpenCase<Owner>[]> => {
  if (requests.length === 0) return []
  const policies = await surroundingsOf(
    em,
    requests.map(({ policyId }) => policyId),
  )
  const closed = requests.map(request => {
    const { endEntity, latestActive, policyId } = request
    const known = policies.get(policyId)
    if (known === undefined) throw new Error(`A policy that a foreign key names is missing: ${policyId}`)
    const { policy, ...around } = known
    return { now, mail: null, ...around, latestActive, asked: { ...keyAskedBy(request), policy, endEntity } }
  })
  return openKeys(em, closed)
}
