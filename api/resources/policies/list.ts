// The one list of policies: those that the caller may read, narrowed as an operation says (contract 1.3).
import type { EntityManager } from '@mikro-orm/postgresql'
import { readableRows } from '../../../storage/lists/readable-rows.ts'
import { Policy } from '../../../storage/rows/policy.ts'
import { alias, searchPage, type Search } from '../../../storage/lists/search.ts'
import type { Caller } from '../../kernel/caller.ts'
import * as dtos from './dtos.ts'

/** What a list can be sorted by: the scalar members of its items. */
const sortable = Object.keys(dtos.GetPolicyResponseDto.shape).filter(member => !dtos.listsAndObjects.has(member))

const columns = { REALM: `${alias}.realm_id`, POLICY: `${alias}.id` }

type Asked = Pick<Search<Policy>, 'where' | 'and' | 'page'> & { readonly text?: string | null }

/** One page of policies. */
export const listPolicies = async (em: EntityManager, caller: Caller, { where = {}, and = [], page, text }: Asked) =>
  searchPage(em, Policy, {
    where,
    and: [...and, await readableRows(em, 'READ_POLICY', { reader: caller, columns })],
    term: { text, in: [`${alias}.name`, `${alias}.description`] },
    page,
    sortable,
  })
