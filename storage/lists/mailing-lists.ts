// The search of mailing lists (contract 6.2 MailingListSearchRequestDto), and which realms link to them.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Page, PageRequest } from '../../domain/search.ts'
import { MailingList } from '../rows/mailing-list.ts'
import { Realm } from '../rows/realm.ts'
import { alias, searchPage } from './search.ts'

/** What is looked for; null members do not narrow. */
export interface MailingListQuery {
  readonly simpleSearchTerm: string | null
  readonly archived: boolean
  readonly page: PageRequest
}

/** One page of the mailing lists that satisfy the query. */
export const findMailingLists = (
  em: EntityManager,
  { simpleSearchTerm, archived, page }: MailingListQuery,
): Promise<Page<MailingList>> =>
  searchPage(em, MailingList, {
    where: { archived },
    // One address a line: what is looked for lies within one.
    term: { text: simpleSearchTerm, in: [`${alias}.name`, `array_to_string(${alias}.emails, e'\\n')`] },
    page,
  })

/** The ids of the realms that link to each of these lists, oldest first; archived ones keep their link. */
export const realmsOfLists = async (
  em: EntityManager,
  listIds: readonly string[],
): Promise<ReadonlyMap<string, string[]>> => {
  const realms = await em.find(
    Realm,
    { mailingListId: { $in: [...listIds] } },
    { orderBy: { createdDate: 'asc', id: 'asc' }, fields: ['id', 'mailingListId'] },
  )
  const found = new Map<string, string[]>(listIds.map(id => [id, []]))
  for (const { id, mailingListId } of realms) found.get(mailingListId ?? '')?.push(id)
  return found
}
