// The search of CAs (contract 6.3 CaSearchRequestDto), and those that are trusted now.
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Page, PageRequest } from '../../domain/search.ts'
import { Ca } from '../rows/ca.ts'
import { alias, amongIds, searchPage, within } from './search.ts'

/** What is looked for; null members do not narrow. */
export interface CaQuery {
  readonly simpleSearchTerm: string | null
  /** Whether the term is looked for in the name of the issuer as well. */
  readonly issuerSearch: boolean
  readonly caIds: readonly string[] | null
  readonly validNotBeforeStart: Date | null
  readonly validNotBeforeEnd: Date | null
  readonly validNotAfterStart: Date | null
  readonly validNotAfterEnd: Date | null
  readonly archived: boolean
  readonly page: PageRequest
}

const columns = ['subject_dn', 'serial_number', 'fingerprint', 'filename']

/** One page of the CAs that satisfy the query. */
export const findCas = (em: EntityManager, query: CaQuery): Promise<Page<Ca>> =>
  searchPage(em, Ca, {
    where: { archived: query.archived },
    and: [
      query.caIds ? amongIds(query.caIds) : undefined,
      ...within('valid_not_before', query.validNotBeforeStart, query.validNotBeforeEnd),
      ...within('valid_not_after', query.validNotAfterStart, query.validNotAfterEnd),
    ],
    term: {
      text: query.simpleSearchTerm,
      in: [...columns, ...(query.issuerSearch ? ['issuer_dn'] : [])].map(name => `${alias}.${name}`),
    },
    page: query.page,
  })

/** The CAs that are trusted, not archived and valid now, the newest first; in each of these sets of ids. */
export const findTrustedCas = (
  em: EntityManager,
  { now, among }: { readonly now: Date; readonly among: readonly (readonly string[])[] },
): Promise<Ca[]> =>
  em.find(
    Ca,
    {
      trusted: true,
      archived: false,
      validNotBefore: { $lte: now },
      validNotAfter: { $gte: now },
      $and: among.map(ids => ({ id: { $in: [...ids] } })),
    },
    { orderBy: { createdDate: 'desc', id: 'asc' } },
  )
