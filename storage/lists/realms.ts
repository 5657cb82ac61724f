// The list of realms (contract 6.6 GetRealmResponseDtoPage).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Page, PageRequest } from '../../domain/search.ts'
import { Realm } from '../rows/realm.ts'
import { readableRows, type Reader } from './readable-rows.ts'
import { alias, searchPage } from './search.ts'

const columns = { REALM: `${alias}.id` }

/** One page of the realms that this principal may read, the archived ones or the others. */
export const findRealms = async (
  em: EntityManager,
  reader: Reader,
  { archived, page }: { archived: boolean; page: PageRequest },
): Promise<Page<Realm>> =>
  searchPage(em, Realm, {
    where: { archived },
    and: [await readableRows(em, 'READ_REALM', { reader, columns })],
    page,
  })
