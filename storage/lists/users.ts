// Lists of users (contract 6.6 MinimalUserDetailsDtoPage, 6.7 UserSearchRequestDto).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Page, PageRequest } from '../../domain/search.ts'
import { canEnter } from '../authorization.ts'
import { User } from '../rows/user.ts'
import { anyOf } from './among.ts'
import { amongIds, foundInText, rowWithId, searchPage } from './search.ts'

/** One page of the enabled users who can see something of a realm. */
export const findAuthorizedUsers = (em: EntityManager, realmId: string, page: PageRequest): Promise<Page<User>> =>
  searchPage(em, User, { where: { enabled: true }, and: [canEnter(realmId)], page })

/** What is looked for; null members do not narrow. */
export interface UserQuery {
  readonly simpleSearchTerm: string | null
  readonly hasRaCertificate: boolean | null
  readonly userIds: readonly string[] | null
  readonly page: PageRequest
}

/** One page of the users that satisfy the query. */
export const findUsers = (
  em: EntityManager,
  { simpleSearchTerm, hasRaCertificate, userIds, page }: UserQuery,
): Promise<Page<User>> => {
  const text = simpleSearchTerm?.trim()
  // First and last name are one line of the text: what is looked for may be in either or in both.
  const term = text ? anyOf([foundInText(text), rowWithId(text)]) : undefined
  return searchPage(em, User, {
    where: hasRaCertificate === null ? {} : { raCertificateId: hasRaCertificate ? { $ne: null } : null },
    and: [userIds ? amongIds(userIds) : undefined, term],
    page,
  })
}
