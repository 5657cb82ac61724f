// What issuing reads of its requests: these with their end entities in one statement, and the policies that they stand
// under, with realm, provider and the end of the CA, in another. Rows of requests are plain: nothing writes them back.
import type { EntityManager, EntityMetadata } from '@mikro-orm/postgresql'
import { CertificateProvider } from './rows/certificate-provider.ts'
import type { CertRequest } from './rows/cert-request.ts'
import type { EndEntity } from './rows/end-entity.ts'
import { Policy } from './rows/policy.ts'
import { Realm } from './rows/realm.ts'
import { statement, type Statement } from './statement.ts'

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
 where r.id = any($1::uuid[])`)

const requestOf = ({ owner: { id, alias, ...fields }, latest, ...columns }: RequestRow): IssueRequest => ({
  ...columns,
  endEntity: { id, alias, realmId: fields.realmId, fields },
  latestActive: latest === null ? null : new Date(latest),
})

/** The requests with these ids, in no order; unknown ids have none. */
export const issueRequests = async (em: EntityManager, ids: readonly string[], now: Date): Promise<IssueRequest[]> =>
  (await requestsById.all(em, [ids, now])).map(requestOf)

/** A policy with the rows that it stands among. */
export interface PolicyAround {
  readonly policy: Policy
  readonly realm: Realm
  readonly provider: CertificateProvider
  /** The notAfter of the CA that would issue, where it is known. */
  readonly caNotAfter: Date | null
}

/** The rows that are joined, by the name of each in the statement. */
const joined = { p: Policy, r: Realm, v: CertificateProvider } as const

const columnsOf = (em: EntityManager, alias: keyof typeof joined): string[] =>
  (em.getMetadata(joined[alias] as never) as unknown as EntityMetadata).props
    .filter(({ persist, formula }) => persist !== false && formula === undefined)
    .flatMap(({ fieldNames }) => fieldNames)

type Row = Readonly<Record<string, unknown>>

const partOf = (row: Row, alias: string): Row =>
  Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => (name.startsWith(`${alias}.`) ? [[name.slice(2), value]] : [])),
  )

const aroundOf = (em: EntityManager, row: Row): PolicyAround => ({
  policy: em.map(Policy, partOf(row, 'p')),
  realm: em.map(Realm, partOf(row, 'r')),
  provider: em.map(CertificateProvider, partOf(row, 'v')),
  caNotAfter: typeof row['ends'] === 'string' ? new Date(row['ends']) : null,
})

const aroundSql = (em: EntityManager): string => {
  const aliases = Object.keys(joined) as (keyof typeof joined)[]
  const list = aliases.flatMap(alias => columnsOf(em, alias).map(name => `${alias}."${name}" as "${alias}.${name}"`))
  return `select ${list.join(', ')}, c.valid_not_after as ends
    from policy p join realm r on r.id = p.realm_id join certificate_provider v on v.id = p.certificate_provider_id
    left join ca c on c.id = v.issuing_ca_id where p.id = any($1::uuid[])`
}

let aroundById: Statement<Row> | undefined

/** These policies by their ids. The names that are other rows' (`realmName`, `certificateProviderName`) are not read. */
export const policiesAround = async (
  em: EntityManager,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, PolicyAround>> => {
  aroundById ??= statement<Row>(aroundSql(em))
  const rows = await aroundById.all(em, [[...new Set(ids)]])
  return new Map(rows.map(row => aroundOf(em, row)).map(around => [around.policy.id, around]))
}
