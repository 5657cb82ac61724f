// The search of API clients (contract 6.2 GetApiClientResponseDtoPage).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Page, PageRequest } from '../../domain/search.ts'
import { ApiClient } from '../rows/api-client.ts'
import { alias, searchPage } from './search.ts'

/** One page of the API clients whose name or client id holds the term. */
export const findApiClients = (
  em: EntityManager,
  { simpleSearchTerm, page }: { readonly simpleSearchTerm: string | null; readonly page: PageRequest },
): Promise<Page<ApiClient>> =>
  searchPage(em, ApiClient, {
    term: { text: simpleSearchTerm, in: [`${alias}.name`, `${alias}.provider_id`] },
    page,
    computed: { defaultPolicyName: `(select name from policy where id = ${alias}.default_policy_id)` },
  })
