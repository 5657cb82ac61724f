// Taking certificate requests for a run: at most one run has a request at a time (contract 4.2).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequestStatus } from '../domain/enums.ts'

/** Takes those of the requests that no run has and that are in one of the states; answers what it got. */
export const claimRequests = async (
  em: EntityManager,
  runId: string,
  { ids, states }: { ids: readonly string[]; states: readonly CertRequestStatus[] },
): Promise<ReadonlySet<string>> => {
  const rows = await em.execute<{ id: string }[]>(
    `update cert_request set run_id = ?, run_since = now()
      where id = any(?::uuid[]) and run_id is null and not archived and cert_request_status = any(?::text[])
      returning id`,
    [runId, `{${ids.join(',')}}`, `{${states.join(',')}}`],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Marks certificates as delivered; answers the requests whose certificate no call had delivered before. */
export const deliver = async (em: EntityManager, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await em.execute<{ id: string }[]>(
    'update cert_request set undelivered = false where id = any(?::uuid[]) and undelivered returning id',
    [`{${ids.join(',')}}`],
  )
  return new Set(rows.map(({ id }) => id))
}
