// The search of end entities (contract 6.6 EndEntitySearchRequestDto).
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import { endEntityViolations, type Held } from '../../domain/end-entity-rules.ts'
import type { Page, PageRequest } from '../../domain/search.ts'
import { anyOf } from './among.ts'
import { EndEntity } from '../rows/end-entity.ts'
import type { Policy } from '../rows/policy.ts'
import { readableRows, type Reader } from './readable-rows.ts'
import { alias, amongIds, foundInText, rowWithId, searchPage } from './search.ts'

/** What is looked for; null and absent members do not narrow. */
export interface EndEntityQuery {
  readonly realmId: string
  readonly simpleSearchTerm: string | null
  readonly endEntityIds: readonly string[] | null
  /** Only those that satisfy the strategy and rules of this policy. */
  readonly policy: Policy | undefined
  /** What certificates of that policy hold of an end entity. */
  readonly held?: Held
  /** Only those without a password for this policy. */
  readonly passwordPolicy: Policy | undefined
  readonly archived: boolean
  readonly page: PageRequest
}

const columns = { REALM: `${alias}.realm_id`, END_ENTITY: `${alias}.id` }

const ruledFields = [
  'commonName',
  'organization',
  'organizationalUnit',
  'country',
  'externalId',
  'email',
  'domains',
  'ips',
  'genericDtoList',
] as const

/** A condition that keeps the end entities of a policy's realm that satisfy its strategy and rules. */
const satisfying = async (em: EntityManager, policy: Policy, held?: Held): Promise<RawQueryFragment> => {
  const { realmId } = policy
  const all = await em.find(EndEntity, { realmId }, { fields: ruledFields, disableIdentityMap: true })
  const fit = all.filter(endEntity => endEntityViolations(policy, endEntity, held).length === 0)
  return amongIds(fit.map(({ id }) => id))
}

const withoutPasswordFor = ({ id }: Policy): RawQueryFragment =>
  raw(
    `not exists (select 1 from end_entity_password p where p.end_entity_id = ${alias}.id and p.policy_id = ?::uuid)`,
    [id],
  )

/** One page of the end entities of a realm that satisfy the query and that this principal may read. */
export const findEndEntities = async (
  em: EntityManager,
  reader: Reader,
  query: EndEntityQuery,
): Promise<Page<EndEntity>> => {
  const { realmId, archived, simpleSearchTerm: text, policy, passwordPolicy } = query
  return searchPage(em, EndEntity, {
    where: { realmId, archived },
    and: [
      query.endEntityIds ? amongIds(query.endEntityIds) : undefined,
      text ? anyOf([foundInText(text), rowWithId(text)]) : undefined,
      policy && (await satisfying(em, policy, query.held)),
      passwordPolicy && withoutPasswordFor(passwordPolicy),
      await readableRows(em, 'READ_END_ENTITY', { reader, columns }),
    ],
    page: query.page,
  })
}
