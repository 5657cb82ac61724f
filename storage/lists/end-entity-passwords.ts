// The list of the passwords of an end entity (contract 6.6).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Page, PageRequest } from '../../domain/search.ts'
import { EndEntityPassword } from '../rows/end-entity-password.ts'
import { alias, searchPage } from './search.ts'

/** One page of the passwords of an end entity. */
export const findPasswordsOf = (
  em: EntityManager,
  endEntityId: string,
  page: PageRequest,
): Promise<Page<EndEntityPassword>> =>
  searchPage(em, EndEntityPassword, {
    where: { endEntityId },
    page,
    computed: {
      endEntityCommonName: `(select common_name from end_entity where id = ${alias}.end_entity_id)`,
      policyName: `(select name from policy where id = ${alias}.policy_id)`,
    },
  })
