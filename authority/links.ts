// The links in certificates (contract 10.2): the API answers them below `pki.base-url` (api/distribution).
import type { DistributionUrls } from '../pki/certificate/certificate.ts'
import type { AuthorityServices } from './services.ts'

const pathsOf: Readonly<Record<keyof DistributionUrls, (caId: string) => string>> = {
  crl: caId => `crl/${caId}.crl`,
  ocsp: caId => `ocsp/${caId}`,
  caIssuers: caId => `ca/${caId}.cer`,
}

/** The links in certificates below a CA. */
export const linksBelow = async (
  { settings, baseUrl }: Pick<AuthorityServices, 'settings' | 'baseUrl'>,
  caId: string,
): Promise<DistributionUrls> => {
  const withoutSlash = (url: string) => (url.endsWith('/') ? url.slice(0, -1) : url)
  const prefix = withoutSlash((await settings.text('pki.base-url')) ?? `${withoutSlash(baseUrl)}/pki`)
  const links = (kind: keyof DistributionUrls) => [`${prefix}/${pathsOf[kind](caId)}`]
  return { crl: links('crl'), ocsp: links('ocsp'), caIssuers: links('caIssuers') }
}
