// The search of certificate providers (contract 6.3 CertificateProviderSearchRequestDto).
import type { EntityManager } from '@mikro-orm/postgresql'
import type { CertificateProviderType } from '../../domain/enums.ts'
import type { Page, PageRequest } from '../../domain/search.ts'
import { CertificateProvider } from '../rows/certificate-provider.ts'
import { alias, searchPage } from './search.ts'

/** What is looked for; null members do not narrow. */
export interface CertificateProviderQuery {
  readonly simpleSearchTerm: string | null
  readonly certificateProviderTypes: readonly CertificateProviderType[] | null
  readonly archived: boolean
  readonly page: PageRequest
}

/** One page of the certificate providers that satisfy the query. */
export const findCertificateProviders = (
  em: EntityManager,
  { simpleSearchTerm, certificateProviderTypes: types, archived, page }: CertificateProviderQuery,
): Promise<Page<CertificateProvider>> =>
  searchPage(em, CertificateProvider, {
    where: { archived, ...(types && { certificateProviderType: { $in: [...types] } }) },
    term: { text: simpleSearchTerm, in: [`${alias}.name`] },
    page,
    // What is answered as the configuration is stored as settings.
    computed: { configuration: `${alias}.settings` },
  })
