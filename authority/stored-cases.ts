// The cases of stored requests that are to be issued: many at once, by one statement.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { IssueRequest, Owner } from '../storage/issue-reading.ts'
import { keyAskedBy, lookAround, type Beside, type OpenCase } from './request-case.ts'

/** Opens the cases of these requests, in their order. */
export const openStored = async (
  em: EntityManager,
  requests: readonly IssueRequest[],
  now: Date,
): Promise<OpenCase<Owner>[]> => {
  if (requests.length === 0) return []
  const asked = requests.map(request => ({ ...keyAskedBy(request), policyId: request.policyId }))
  const beside = await lookAround(em, asked)
  return requests.map(({ endEntity, latestActive }, index) => {
    const { policy, ...around } = beside[index] as Beside
    const { policyId: _, ...key } = asked[index] as (typeof asked)[0]
    return { now, mail: null, ...around, latestActive, asked: { ...key, policy, endEntity } }
  })
}
