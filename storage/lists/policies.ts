// The lists of policies (contract 6.6 PolicySearchRequestDto, 12).
import { raw, type EntityManager, type RawQueryFragment } from '@mikro-orm/postgresql'
import type { Page, PageRequest } from '../../domain/search.ts'
import { Policy } from '../rows/policy.ts'
import { readableRows, type Reader } from './readable-rows.ts'
import { alias, amongIds, searchPage } from './search.ts'

/** What is looked for; null and absent members do not narrow. */
export interface PolicyQuery {
  readonly realmIds?: readonly string[] | undefined
  readonly certificateProviderId?: string | undefined
  readonly policyIds?: readonly string[] | null
  /** Only those for which this end entity has no password. */
  readonly withoutPasswordOf?: string
  readonly simpleSearchTerm?: string | null
  readonly archived?: boolean
  readonly page: PageRequest
}

const columns = { REALM: `${alias}.realm_id`, POLICY: `${alias}.id` }

const withoutPasswordOf = (endEntityId: string): RawQueryFragment =>
  raw(
    `not exists (select 1 from end_entity_password p where p.policy_id = ${alias}.id and p.end_entity_id = ?::uuid)`,
    [endEntityId],
  )

const whereOf = ({ certificateProviderId, archived = false }: PolicyQuery) => ({
  archived,
  ...(certificateProviderId && { certificateProviderId }),
})

/** One page of the policies that satisfy the query and that this principal may read. */
export const findPolicies = async (em: EntityManager, reader: Reader, query: PolicyQuery): Promise<Page<Policy>> =>
  searchPage(em, Policy, {
    where: whereOf(query),
    and: [
      query.realmIds ? amongIds(query.realmIds, 'realm_id') : undefined,
      query.policyIds ? amongIds(query.policyIds) : undefined,
      query.withoutPasswordOf ? withoutPasswordOf(query.withoutPasswordOf) : undefined,
      await readableRows(em, 'READ_POLICY', { reader, columns }),
    ],
    term: { text: query.simpleSearchTerm, in: [`${alias}.name`, `${alias}.description`] },
    page: query.page,
  })
