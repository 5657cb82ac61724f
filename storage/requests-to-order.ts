// What an order reads of its requests, of which there may be ten thousand: a few columns in plain rows, not entities with the
// keys that came with them. Nothing writes them back.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Place } from '../domain/permissions.ts'
import type { CertRequest } from './rows/cert-request.ts'
import { anyOf, statement } from './statement.ts'

type Columns = Pick<
  CertRequest,
  'id' | 'realmId' | 'policyId' | 'policyName' | 'label' | 'certRequestStatus' | 'archived' | 'undelivered'
> & { readonly runId: string | null }

/** A request as it is ordered. */
export interface RequestToOrder extends Readonly<Columns> {
  readonly place: Place
}

const reading = statement<Columns & { readonly createdBy: string | null }>(
  `select r.id, r.realm_id as "realmId", r.policy_id as "policyId", p.name as "policyName", r.created_by as "createdBy",
      coalesce(e.common_name, e.alias, e.id::text) as label, r.cert_request_status as "certRequestStatus", r.archived,
      r.undelivered, r.run_id as "runId"
    from cert_request r join end_entity e on e.id = r.end_entity_id join policy p on p.id = r.policy_id
   where r.id = ${anyOf('$1::uuid[]')}`,
)

/** The ids of one statement: its rows come to the event loop at once. */
const partLength = 1000

/** The requests with these ids, in no order; unknown ids have none. */
export const requestsToOrder = async (em: EntityManager, ids: readonly string[]): Promise<RequestToOrder[]> => {
  const found: RequestToOrder[] = []
  for (let start = 0; start < ids.length; start += partLength)
    for (const { createdBy, ...row } of await reading.all(em, [ids.slice(start, start + partLength)]))
      found.push({
        ...row,
        place: { REALM: row.realmId, POLICY: row.policyId, CERT_REQUEST: row.id, creatorId: createdBy },
      })
  return found
}
