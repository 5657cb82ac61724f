// Lists of users (contract 6.6 MinimalUserDetailsDtoPage).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Page, PageRequest } from '../../domain/search.ts'
import { canEnter } from '../authorization.ts'
import { User } from '../rows/user.ts'
import { searchPage } from './search.ts'

/** One page of the enabled users who can see something of a realm. */
export const findAuthorizedUsers = (em: EntityManager, realmId: string, page: PageRequest): Promise<Page<User>> =>
  searchPage(em, User, { where: { enabled: true }, and: [canEnter(realmId)], page })
