// What issuing reads of its requests: these with their end entities in one statement. The rows are plain: nothing writes
// them back. What stands around their policies is read by policy-surroundings.ts.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertRequest } from './rows/cert-request.ts'
import type { EndEntity } from './rows/end-entity.ts'
import { anyOf, statement } from './statement.ts'

/** An end entity as cases look at it. */
export type Owner = Pick<EndEntity, 'id' | 'realmId' | 'alias' | 'fields'>

/** The columns of a request that decide on its certificate. */
type Columns = Required<
  Pick<
    CertRequest,
    | 'id'
    | 'createdBy'
    | 'createdByType'
    | 'archived'
    | 'realmId'
    | 'policyId'
    | 'policyName'
    | 'validFor'
    | 'keyPairMode'
    | 'keyGenParamsDto'
    | 'pkcs10'
    | 'publicKey'
    | 'certRequestStatus'
    | 'certificateId'
    | 'runId'
  >
>

/** A request as it is issued. */
export interface IssueRequest extends Columns {
  readonly endEntity: Owner
  /** The end of its end entity's latest active certificate, where the policy allows one at a time. */
  readonly latestActive: Date | null
}

type RequestRow = Columns & { readonly owner: EndEntity['fields'] & Owner; readonly latest: string | null }

const requestsById =
  statement<RequestRow>(`select r.id, r.created_by as "createdBy", r.created_by_type as "createdByType", r.archived,
    r.realm_id as "realmId", r.policy_id as "policyId", p.name as "policyName", r.valid_for as "validFor",
    r.key_pair_mode as "keyPairMode", r.key_gen_params_dto as "keyGenParamsDto", r.pkcs10, r.public_key as "publicKey",
    r.cert_request_status as "certRequestStatus", r.certificate_id as "certificateId", r.run_id as "runId",
    json_build_object('id', e.id, 'alias', e.alias, 'realmId', e.realm_id, 'archived', e.archived, 'userId', e.user_id,
      'commonName', e.common_name, 'organization', e.organization, 'organizationalUnit', e.organizational_unit,
      'country', e.country, 'externalId', e.external_id, 'email', e.email, 'domains', e.domains, 'ips', e.ips,
      'genericDtoList', e.generic_dto_list) as owner,
    case when p.enforce_active_cert_uniqueness then (
      select max(c.valid_not_after) from certificate c
       where c.policy_id = r.policy_id and c.end_entity_id = r.end_entity_id and c.revocation_date is null
         and c.valid_not_after >= $2 and not c.archived) end as latest
  from cert_request r join end_entity e on e.id = r.end_entity_id join policy p on p.id = r.policy_id
 where r.id = ${anyOf('$1::uuid[]')}`)

const requestOf = ({ owner: { id, alias, ...fields }, latest, ...columns }: RequestRow): IssueRequest => ({
  ...columns,
  endEntity: { id, alias, realmId: fields.realmId, fields },
  latestActive: latest === null ? null : new Date(latest),
})

/** The requests with these ids, in no order; unknown ids have none. */
export const issueRequests = async (em: EntityManager, ids: readonly string[], now: Date): Promise<IssueRequest[]> =>
  (await requestsById.all(em, [ids, now])).map(requestOf)
